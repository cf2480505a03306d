import { createApp, effectScope, nextTick, ref } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { expect, onTestFinished, test } from 'vitest'
import { useAddressedDialog } from './useAddressedDialog.ts'

test('an address opens a dialog once it is possible, and goes when the dialog has made itself impossible', async () => {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: {} }] })
  await router.push('/?dialog=pause')
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  const isPossible = ref(false)
  const open = createApp({})
    .use(router)
    .runWithContext(() => scope.run(() => useAddressedDialog('pause', () => isPossible.value)))
  expect(open?.value).toBe(false)
  isPossible.value = true
  await nextTick()
  expect(open?.value).toBe(true)
  isPossible.value = false
  await expect.poll(() => router.currentRoute.value.fullPath).toBe('/')
})
