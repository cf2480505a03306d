import { effectScope, shallowRef } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { expect, onTestFinished, test, vi } from 'vitest'
import { withServices } from '../../testing/services.ts'
import { useAskedRows } from './useAskedRows.ts'

interface Thing {
  readonly id: string
  readonly ended?: boolean
}
const NEAR: Thing = { id: 'near' }
const find = (id: string): Promise<Thing> =>
  id === 'gone' ? Promise.reject(new Error('gone')) : Promise.resolve({ id, ended: id === 'ended' })

async function open(address: string) {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: {} }] })
  await router.push(address)
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  const rows = shallowRef<readonly Thing[] | null>(null)
  const asks = vi.fn(find)
  const source = { keyOf: ({ id }: Thing) => id, rows: () => rows.value, find: asks, fits: (one: Thing) => !one.ended }
  const dialog = withServices({})
    .app.use(router)
    .runWithContext(() => scope.run(() => useAskedRows<Thing>('end', source)))
  if (!dialog) throw new Error('no scope')
  return { ...dialog, rows, asks, url: () => router.currentRoute.value.fullPath }
}

test('an address names several rows; those that are not loaded are asked for, and those that are gone or do not fit are left out', async () => {
  const { asked, asking, asks, rows } = await open('/?dialog=end&of=near,far,ended,gone')
  expect(asking.value).toBe(false)
  rows.value = [NEAR]
  await expect.poll(() => asking.value).toBe(true)
  expect(asked.value).toEqual([NEAR, { id: 'far', ended: false }])
  expect(asks.mock.calls.map(([id]) => id)).toEqual(['far', 'ended', 'gone'])
})

test('the address of rows of which none is left is corrected', async () => {
  const { asking, rows, url } = await open('/?dialog=end&of=ended,gone')
  rows.value = [NEAR]
  await expect.poll(url).toBe('/')
  expect(asking.value).toBe(false)
})

test('asking about rows writes them into the address', async () => {
  const { ask, asked, asking, rows, url } = await open('/')
  rows.value = [NEAR, { id: 'other' }]
  ask(rows.value)
  await expect.poll(() => asking.value).toBe(true)
  expect(url()).toBe('/?dialog=end&of=near,other')
  expect(asked.value).toEqual(rows.value)
})
