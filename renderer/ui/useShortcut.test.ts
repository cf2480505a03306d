import { effectScope, type EffectScope } from 'vue'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** The composable of a page that was just loaded, with these settings on the computer. */
async function loaded(stored: ReadonlyMap<string, string> = new Map()) {
  const storage = new Map(stored)
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => void storage.set(key, value),
  })
  vi.resetModules()
  return { storage, ...(await import('./useShortcut.ts')) }
}
const within = <T>(component: EffectScope, setup: () => T): T => component.run(setup) as T

test('the choice is remembered after its component is gone, as after a sign-out', async () => {
  const { storage, useSingleKeys } = await loaded()
  const [topBar, dialog] = [effectScope(), effectScope()]
  within(topBar, useSingleKeys)
  topBar.stop()
  within(dialog, useSingleKeys).value = false
  expect([...storage]).toEqual([['berth.single-keys', 'off']])
  expect((await loaded(storage)).useSingleKeys().value).toBe(false)
})

test('every component has the same choice', async () => {
  const { useSingleKeys } = await loaded()
  const [one, other] = [effectScope(), effectScope()].map(component => within(component, useSingleKeys))
  expect(other?.value).toBe(true)
  if (one) one.value = false
  expect(other?.value).toBe(false)
})
