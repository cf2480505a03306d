import { effectScope, shallowReactive } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { expect, onTestFinished, test, vi } from 'vitest'
import { withServices } from '../../testing/services.ts'
import { useEditor } from './useEditor.ts'

interface Thing {
  readonly id: string
}

async function open(address: string, find?: (key: string) => Promise<Thing | undefined>) {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: {} }] })
  await router.push(address)
  const app = withServices({}).app.use(router)
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  const list = shallowReactive({ rows: null as readonly Thing[] | null, load: () => Promise.resolve() })
  const options = { list, nameOf: ({ id }: Thing) => id, remove: () => Promise.resolve() }
  const editor = app.runWithContext(() => scope.run(() => useEditor<Thing>({ ...options, find })))
  if (!editor) throw new Error('no scope')
  return { list, editor, router, dialog: () => router.currentRoute.value.query['dialog'] }
}

test('a dialog whose address names a thing of a later page asks for that thing, and opens', async () => {
  const find = vi.fn((key: string) => Promise.resolve({ id: key }))
  const { list, editor } = await open('/?dialog=edit&of=far', find)
  expect(find).not.toHaveBeenCalled()
  list.rows = [{ id: 'near' }]
  await expect.poll(() => editor.editing.value).toBe(true)
  expect(editor.thing.value).toEqual({ id: 'far' })
  expect(find.mock.calls.map(([key]) => key)).toEqual(['far'])
})

test('a dialog that opens again asks again: the thing may have changed', async () => {
  const find = vi.fn((key: string) => Promise.resolve({ id: key }))
  const { list, editor, router } = await open('/?dialog=edit&of=far', find)
  list.rows = []
  await expect.poll(() => editor.editing.value).toBe(true)
  await router.push('/')
  await expect.poll(() => editor.editing.value).toBe(false)
  await router.push('/?dialog=edit&of=far')
  await expect.poll(() => editor.editing.value).toBe(true)
  expect(find).toHaveBeenCalledTimes(2)
})

test('a thing among the loaded rows is not asked for', async () => {
  const find = vi.fn(() => Promise.resolve(undefined))
  const { list, editor } = await open('/?dialog=delete&of=near', find)
  list.rows = [{ id: 'near' }]
  await expect.poll(() => editor.deleting.value).toBe(true)
  expect(find).not.toHaveBeenCalled()
})

test.each([
  ['nothing is found', () => Promise.resolve(undefined)],
  ['only another thing is found', () => Promise.resolve({ id: 'farther' })],
  ['the list comes whole', undefined],
])('the dialog of a thing that is gone closes: %s', async (_why, find) => {
  const { list, editor, dialog } = await open('/?dialog=edit&of=far', find)
  list.rows = [{ id: 'near' }]
  await expect.poll(dialog).toBeUndefined()
  expect(editor.editing.value).toBe(false)
})
