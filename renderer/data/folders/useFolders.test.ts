import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ApiClient, AppError, type Folder } from '#manager/contract'
import { aFolder } from '../../testing/a-folder.ts'
import { aMe } from '../../testing/a-me.ts'
import { withServices } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useFolders } from './useFolders.ts'

const OWNER = aFolder(1).ownerId
if (OWNER === null) throw new Error('the folder of a test has an owner')
const ME = aMe(OWNER)

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A manager with these folders; `answers` replaces routes. */
function start(folders: Folder[], answers: Partial<ApiClient> = {}) {
  const listed: string[] = []
  const setup = withServices({
    listStorageHosts: () =>
      Promise.resolve({
        items: [{ name: folders[0]?.storageHost ?? 'local', problem: null, space: null }],
        folders: { count: folders.length, limit: 20, usedBytes: 0, limitBytes: null, usedFiles: 0, limitFiles: null },
      }),
    listFolders: input => {
      const status = input?.query?.trashed ? 'trashed' : 'ready'
      listed.push(status)
      return Promise.resolve({ items: folders.filter(folder => folder.status === status) })
    },
    ...answers,
  })
  const account = setup.app.runWithContext(() => useAccount(setup.pinia))
  account.adopt(ME, 'secret')
  return { ...setup, listed, store: setup.app.runWithContext(() => useFolders(setup.pinia)) }
}
const names = (items: readonly Folder[] | null) => items?.map(({ name }) => name) ?? null
const hint = { topic: 'folder', id: 'all', version: 2 } as const

test('hints refetch the loaded lists, many hints at once, and no list that no page shows', async () => {
  const folders = [aFolder(1)]
  const { store, events, listed } = start(folders)
  events.hint(hint)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(listed).toEqual([])
  await store.load('ready')
  expect(names(store.lists.ready.items)).toEqual(['folder-1'])
  folders.push(aFolder(2))
  for (let i = 0; i < 10; i++) events.hint(hint)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(names(store.lists.ready.items)).toEqual(['folder-1', 'folder-2'])
  expect(listed).toEqual(['ready', 'ready'])
})

test('an action shows its answer; an older answer that arrives later does not undo it', async () => {
  const folders = [aFolder(1)]
  let answerLate: (() => void) | undefined
  const { store, events } = start(folders, {
    trashFolder: () => Promise.resolve(aFolder(1, { status: 'trashed', trashedAt: '2026-11-22T10:00:00.000Z' })),
  })
  await Promise.all([store.load('ready'), store.load('trashed')])
  await store.trash(aFolder(1).id)
  expect([names(store.lists.ready.items), names(store.lists.trashed.items)]).toEqual([[], ['folder-1']])

  const api = start(folders, {
    listFolders: () => new Promise(resolve => (answerLate = () => resolve({ items: [aFolder(1)] }))),
    deleteFolder: () => Promise.resolve(undefined),
  })
  const loading = api.store.load('ready')
  await vi.advanceTimersByTimeAsync(1)
  await api.store.remove(aFolder(1).id)
  answerLate?.()
  await vi.advanceTimersByTimeAsync(1)
  expect(api.store.lists.ready.items).toBeNull()
  // The dropped answer is requested again.
  await vi.advanceTimersByTimeAsync(1_000)
  answerLate?.()
  await vi.advanceTimersByTimeAsync(1)
  await loading
  expect(names(api.store.lists.ready.items)).toEqual(['folder-1'])
  events.stop()
})

test('a failure keeps loaded folders, and is shown only if none are loaded', async () => {
  let fails = true
  const { store } = start([], {
    listFolders: () => (fails ? Promise.reject(new AppError('unavailable')) : Promise.resolve({ items: [aFolder(1)] })),
  })
  await store.load('ready')
  expect(store.lists.ready).toMatchObject({ items: null, error: { code: 'unavailable' } })
  fails = false
  await store.retry('ready')
  expect(names(store.lists.ready.items)).toEqual(['folder-1'])
  fails = true
  await store.retry('ready')
  expect(names(store.lists.ready.items)).toEqual(['folder-1'])
})
