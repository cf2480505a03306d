import { createApp, effectScope, watch } from 'vue'
import { createMemoryHistory, createRouter, type RouteLocationResolved, type Router } from 'vue-router'
import { expect, onTestFinished, test, vi } from 'vitest'
import { leaveDialog, useDialogAddress } from './useDialogAddress.ts'

test('a dialog that is closed twice at once takes one step back, and the next one can be closed', () => {
  const ended = new Set<() => void>()
  const router = {
    options: { history: { state: { back: '/data/1' } } },
    afterEach: (hook: () => void) => (ended.add(hook), () => ended.delete(hook)),
    back: vi.fn(),
  } as unknown as Router
  const list = { fullPath: '/data/1' } as RouteLocationResolved
  leaveDialog(router, list)
  leaveDialog(router, list)
  expect(router.back).toHaveBeenCalledOnce()
  for (const hook of ended) hook()
  leaveDialog(router, list)
  expect(router.back).toHaveBeenCalledTimes(2)
})

async function open(address: string) {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: {} }] })
  await router.push(address)
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  const dialogs = createApp({})
    .use(router)
    .runWithContext(() =>
      scope.run(() => ({
        apps: useDialogAddress(['apps', 'share']),
        over: useDialogAddress(['options', 'ssh'], 'over'),
      })),
    )
  if (!dialogs) throw new Error('no scope')
  return { ...dialogs, router, url: () => router.currentRoute.value.fullPath }
}

test('a dialog that another one opens has its own part of the URL, and closing it leaves the other open', async () => {
  const { over, url } = await open('/?q=x&dialog=apps&of=1')
  over.open('options', 'tensorboard')
  await expect.poll(url).toBe('/?q=x&dialog=apps&of=1&over=options&overOf=tensorboard')
  expect(over.shown.value).toEqual({ name: 'options', of: 'tensorboard' })
  over.close()
  await expect.poll(url).toBe('/?q=x&dialog=apps&of=1')
})

test('closing or changing the outer dialog takes the inner one along', async () => {
  const { apps, url } = await open('/?dialog=apps&of=1&over=options&overOf=tensorboard')
  apps.open('share', '1')
  await expect.poll(url).toBe('/?dialog=share&of=1')
  apps.close()
  await expect.poll(url).toBe('/')
})

test('the outer dialog does not change when an inner one opens or closes', async () => {
  const { apps, router } = await open('/?dialog=apps&of=1')
  const seen = vi.fn()
  onTestFinished(watch(apps.shown, seen, { flush: 'sync' }))
  await router.push('/?dialog=apps&of=1&over=ssh')
  await router.push('/?dialog=apps&of=1')
  expect(seen).not.toHaveBeenCalled()
  await router.push('/?dialog=apps&of=2')
  expect(seen).toHaveBeenCalledOnce()
})
