import { expect, test, vi } from 'vitest'
import { FolderId, UserId } from '#manager/contract'
import { scriptedDatabase } from '../../test/fixtures/scripted-database.ts'
import { NO_PEERS } from '../cluster/peers.ts'
import { startSweeps } from '../files/sweeps.ts'
import { createFileWatches } from '../files/watches.ts'
import { createFolderUsages } from '../folders/usage.ts'
import { silentLog as log } from '../log.ts'
import { startSessionMembers } from '../sessions/members.ts'
import { type Caller } from '../users/authorize.ts'
import { createRateLimits } from '../users/rate-limits.ts'
import { currentWork, onBehalfOf } from './on-behalf.ts'
import { type Store } from './open-store.ts'

const ID = '00000000-0000-7000-8000-000000000000'
const [folderId, userId] = [FolderId.parse(ID), UserId.parse(ID)]

/** For whom statements and timers are. */
const world = () => {
  const seen: (string | undefined)[] = []
  const note = () => void seen.push(currentWork()?.who)
  const db = scriptedDatabase(() => (note(), []))
  return { seen, note, db, store: { db, now: Date.now } as unknown as Store }
}

/** Notes for whom timers of `setTimeout` are begun. A timer runs in the context in which it was begun. */
function watchTimers(note: () => void) {
  return vi.spyOn(globalThis, 'setTimeout').mockImplementation(act => {
    note()
    void act
    return setInterval(() => undefined, 3_600_000).unref()
  })
}

test('the members of all sessions are not read on behalf of whoever has changed one', async () => {
  const { seen, db } = world()
  const members = await startSessionMembers({ store: { db }, peers: NO_PEERS, log })
  onBehalfOf('mallory', () => members.changed(userId))
  await members[Symbol.asyncDispose]()
  expect(seen).toEqual([undefined, undefined])
})

test('the counts of all keypairs are not shared on behalf of whoever sent the first request', async () => {
  const { seen, note, store } = world()
  const limits = createRateLimits({ store, log })
  {
    using _timers = watchTimers(note)
    await onBehalfOf('mallory', () => limits.take('AKIA', 10))
  }
  expect(seen).toEqual(['mallory', undefined])
  await onBehalfOf('mallory', async () => {
    limits.giveBack('AKIA')
    await limits[Symbol.asyncDispose]()
  })
})

test('a folder is not counted, nor the deleted files of a storage removed, on behalf of whoever asked first', async () => {
  const { seen, note, store } = world()
  const measure = () => Promise.resolve({ bytes: 0, files: 0 }).finally(note)
  const usages = createFolderUsages({ store, storage: { measure }, hints: { changed: vi.fn() }, log })
  await onBehalfOf('mallory', () =>
    usages.again([{ id: folderId, storage_host: 'local', measured_at: null, took_ms: null }]),
  )
  {
    using _timers = watchTimers(note)
    onBehalfOf('mallory', () => usages.wrote(folderId))
  }
  await usages[Symbol.asyncDispose]()
  const sweep = () => Promise.resolve().finally(note)
  const sweeps = startSweeps({ storage: { names: [], sweep }, log })
  onBehalfOf('mallory', () => sweeps.start('local'))
  await sweeps[Symbol.asyncDispose]()
  expect(new Set(seen)).toEqual(new Set([undefined]))
  expect(seen.length).toBeGreaterThan(3)
})

test('a directory is not watched on behalf of whoever saw it first', () => {
  const { seen, note, store } = world()
  using watches = createFileWatches({ store, storage: {} as never, log })
  using _timers = watchTimers(note)
  const caller = { userId } as Caller
  onBehalfOf('mallory', () => watches.watch(caller, [{ folderId, path: '' }], () => undefined))
  expect(seen).toEqual([undefined])
})
