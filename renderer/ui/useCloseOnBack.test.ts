import { createApp, effectScope, reactive, ref } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { expect, onTestFinished, test } from 'vitest'
import { stepBack, useCloseOnBack } from './useCloseOnBack.ts'

/** Two dialogs, the inner one after the outer, on the second page of a history; the first page replaced another one. */
async function open(address: string, { persistent = false } = {}) {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/:page', component: {} }] })
  await router.replace('/first')
  await router.push(address)
  const [outer, inner] = [ref(true), ref(true)]
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  createApp({})
    .use(router)
    .runWithContext(() =>
      scope.run(() => {
        useCloseOnBack(outer, { persistent: false, hasUrl: false })
        useCloseOnBack(inner, reactive({ persistent, hasUrl: false }))
      }),
    )
  const back = () =>
    new Promise<void>(resolve => {
      const stop = router.afterEach(() => {
        stop()
        resolve()
      })
      router.back()
    })
  const state = () => ({
    url: router.currentRoute.value.fullPath,
    open: [outer.value && 'outer', inner.value && 'inner'].filter(Boolean),
  })
  return { router, back, state }
}

test('Back closes the innermost dialog, then the one below, and then leaves the page', async () => {
  const { back, state } = await open('/second')
  await back()
  expect(state()).toEqual({ url: '/second', open: ['outer'] })
  await back()
  expect(state()).toEqual({ url: '/second', open: [] })
  await back()
  expect(state().url).toBe('/first')
})

test('a dialog without a URL that stands on one with a URL closes first, and the other one stays', async () => {
  const { back, state } = await open('/second?dialog=launch')
  await back()
  expect(state()).toEqual({ url: '/second?dialog=launch', open: ['outer'] })
  await back()
  expect(state().url).toBe('/first')
})

test('Back leaves the URL of an inner dialog that has one', async () => {
  const { back, state } = await open('/second?dialog=apps&over=ssh')
  await back()
  expect(state().url).toBe('/first')
})

test('Back does not close a dialog that waits for an answer, and a link leads away in spite of it', async () => {
  const { router, back, state } = await open('/second', { persistent: true })
  await back()
  expect(state()).toEqual({ url: '/second', open: ['outer', 'inner'] })
  await router.push('/third')
  expect(state().url).toBe('/third')
})

test('a dialog that closes itself leaves its URL, although the one that it has opened waits for an answer', async () => {
  const { router, back, state } = await open('/second?dialog=proof', { persistent: true })
  stepBack(router)
  await expect.poll(() => state().url).toBe('/first')
  await router.push('/second')
  await back()
  expect(state().url).toBe('/second')
})
