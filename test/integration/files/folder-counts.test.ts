import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { FolderId, GroupId } from '#manager/contract'
import { createFolderQuotas } from '../../../manager/folders/folder-quotas.ts'
import { createFolderUsages } from '../../../manager/folders/usage.ts'
import { silentLog } from '../../../manager/log.ts'
import { type FolderLimits } from '../../../manager/storage/folder-quota.ts'
import { createResourcePolicies } from '../../../manager/quotas/policies.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { insertGroup } from '../../../manager/store/identity/groups.ts'
import { listUnenforced, readUsage, saveUsage } from '../../../manager/store/storage/folder-usage.ts'
import { insertFolder } from '../../../manager/store/storage/folders.ts'
import { setMarker } from '../../../manager/store/storage/storage-hosts.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

/** Measuring of folders, and the limits that their file systems must enforce, on a store without a manager. */

const MIB = 2 ** 20

test('the limits of a policy and of a project reach the file systems of all folders that they concern, and no others', async () => {
  await using test = await openTestStore()
  const { db } = test.store
  await setMarker(db, 'local', randomUUID())
  const folder = async (name: string, maxBytes: number | null) => {
    const id = newId(FolderId)
    const of = { user_id: test.ownerId, group_id: null, usage_mode: 'general', permission: 'rw' } as const
    await insertFolder(db, { id, name, ...of, storage_host: 'local', max_bytes: maxBytes, max_files: null })
    return id
  }
  const [free, small] = [await folder('free', null), await folder('small', MIB)]
  const limits: (readonly [string, FolderLimits])[] = []
  const storage = {
    limit(_host: string, id: string, of: FolderLimits) {
      limits.push([id, of])
      return Promise.resolve({})
    },
  }
  const usages = { check: () => undefined, again: () => Promise.resolve(), wrote: () => undefined }
  const enforced = async () => {
    await using quotas = createFolderQuotas({ store: test.store, storage, usages, log: silentLog })
    quotas.enforceAll()
    await expect.poll(() => listUnenforced(db)).toEqual([])
    return new Map(limits.splice(0))
  }
  const policies = createResourcePolicies({
    store: test.store,
    notifier: { write: () => Promise.resolve(), announce: () => Promise.resolve() },
    onChanged: () => undefined,
  })
  await policies.change('default', { maxFolderBytes: 4 * MIB })
  expect(await enforced()).toEqual(
    new Map([
      [free, { bytes: 4 * MIB, files: null }],
      [small, { bytes: MIB, files: null }],
    ]),
  )
  await policies.change('default', { maxFolderBytes: null })
  expect(await enforced()).toEqual(new Map([[free, { bytes: null, files: null }]]))
  await policies.change('default', { maxFolderFiles: 9 })
  expect(await enforced()).toEqual(
    new Map([
      [free, { bytes: null, files: 9 }],
      [small, { bytes: MIB, files: 9 }],
    ]),
  )
  const groupId = newId(GroupId)
  await insertGroup(db, { id: groupId, domain: 'default', name: 'counted', maxFolderFiles: 7 })
  const id = newId(FolderId)
  const of = { user_id: null, group_id: groupId, usage_mode: 'general', permission: 'rw' } as const
  await insertFolder(db, { id, name: 'of-project', ...of, storage_host: 'local', max_bytes: null, max_files: 11 })
  expect(await enforced()).toEqual(new Map([[id, { bytes: null, files: 7 }]]))
})

test('a folder that is counted for a write is not counted once more because somebody looks at it', async () => {
  await using test = await openTestStore()
  await setMarker(test.store.db, 'local', randomUUID())
  const folder = async (name: string) => {
    const id = newId(FolderId)
    const of = { user_id: test.ownerId, group_id: null, usage_mode: 'general', permission: 'rw' } as const
    await insertFolder(test.store.db, { id, name, ...of, storage_host: 'local', max_bytes: null, max_files: null })
    return { id, storage_host: 'local', measured_at: null, took_ms: null }
  }
  const [ahead, written, last] = [await folder('ahead'), await folder('written'), await folder('last')]
  const counted: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
  const storage = {
    async measure(_host: string, id: string) {
      counted.push(id)
      if (id === ahead.id) await released
      return { bytes: 0, files: 0 }
    },
  }
  const hints = { changed: () => Promise.resolve() }
  {
    await using usages = createFolderUsages({ store: test.store, storage, hints, log: silentLog })
    usages.check([ahead, written, last])
    await usages.again([written])
    release(undefined)
    await expect.poll(() => counted).toContain(last.id)
  }
  expect(counted).toEqual([ahead.id, written.id, last.id])
})

test('what Berth writes while a folder is counted stays counted', async () => {
  await using test = await openTestStore()
  const { db } = test.store
  await setMarker(db, 'local', randomUUID())
  const id = newId(FolderId)
  const of = { user_id: test.ownerId, group_id: null, usage_mode: 'general', permission: 'rw' } as const
  await insertFolder(db, { id, name: 'busy', ...of, storage_host: 'local', max_bytes: 10 * MIB, max_files: null })
  await saveUsage(db, id, undefined, { bytes: 0, files: 0, tookMs: 0 })
  const { promise: began, resolve: begin } = Promise.withResolvers<undefined>()
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
  const storage = {
    async measure() {
      begin(undefined)
      await released
      return { bytes: MIB, files: 1 }
    },
    limit: () => Promise.resolve({}),
  }
  const hints = { changed: () => Promise.resolve() }
  await using usages = createFolderUsages({ store: test.store, storage, hints, log: silentLog })
  await using quotas = createFolderQuotas({ store: test.store, storage, usages, log: silentLog })
  const counted = usages.again([{ id, storage_host: 'local', measured_at: null, took_ms: null }])
  await began
  const limits = { max_bytes: 10 * MIB, max_files: null, owner_max_bytes: null, owner_max_files: null }
  await quotas.take({ id, ...limits }, { bytes: 3 * MIB, files: 2 })
  release(undefined)
  await counted
  expect(await readUsage(db, id)).toEqual({ bytes: 4 * MIB, files: 3 })
})

test('writes at once, at two managers and to two folders of an owner, never share the last space', async () => {
  await using test = await openTestStore()
  const { db } = test.store
  await setMarker(db, 'local', randomUUID())
  const of = { user_id: test.ownerId, group_id: null, usage_mode: 'general', permission: 'rw' } as const
  const policies = createResourcePolicies({
    store: test.store,
    notifier: { write: () => Promise.resolve(), announce: () => Promise.resolve() },
    onChanged: () => undefined,
  })
  await policies.change('default', { maxFolderBytes: 4 * MIB })
  const limits = { max_bytes: null, max_files: null, owner_max_bytes: 4 * MIB, owner_max_files: null }
  const rows = await Promise.all(
    ['one', 'two'].map(async name => {
      const id = newId(FolderId)
      await insertFolder(db, { id, name, ...of, storage_host: 'local', max_bytes: null, max_files: null })
      await saveUsage(db, id, undefined, { bytes: 0, files: 0, tookMs: 0 })
      return { id, ...limits }
    }),
  )
  const usages = { check: () => undefined, again: () => Promise.resolve(), wrote: () => undefined }
  const deps = { store: test.store, storage: { limit: () => Promise.resolve({}) }, usages, log: silentLog }
  await using first = createFolderQuotas(deps)
  await using second = createFolderQuotas(deps)
  const writes = Array.from({ length: 8 }, () => [first, second])
    .flat()
    .flatMap(quotas => rows.map(row => quotas.take(row, { bytes: MIB, files: 1 })))
  const outcomes = await Promise.allSettled(writes)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
  for (const one of outcomes.filter(({ status }) => status === 'rejected'))
    expect(one).toMatchObject({ reason: { code: 'quota_total_full' } })
})

test('a folder is counted soon after the last of a run of writes, without a look and without a limit', async () => {
  await using test = await openTestStore()
  const { db } = test.store
  await setMarker(db, 'local', randomUUID())
  const of = { user_id: test.ownerId, group_id: null, usage_mode: 'general', permission: 'rw' } as const
  const folder = async (name: string) => {
    const id = newId(FolderId)
    await insertFolder(db, { id, name, ...of, storage_host: 'local', max_bytes: null, max_files: null })
    return id
  }
  const [known, unknown] = [await folder('known'), await folder('unknown')]
  await saveUsage(db, known, undefined, { bytes: 0, files: 0, tookMs: 0 })
  await sql`update folder_usage set measured_at = now() - interval '2 seconds'`.execute(db)
  const counted: string[] = []
  const storage = {
    measure(_host: string, id: string) {
      counted.push(id)
      return Promise.resolve({ bytes: MIB, files: 1 })
    },
    limit: () => Promise.resolve({}),
  }
  const hints = { changed: () => Promise.resolve() }
  await using usages = createFolderUsages({ store: test.store, storage, hints, log: silentLog, soonMs: 50 })
  await using quotas = createFolderQuotas({ store: test.store, storage, usages, log: silentLog })
  const limits = { max_bytes: null, max_files: null, owner_max_bytes: null, owner_max_files: null }
  for (const id of [unknown, known, known, known]) await quotas.take({ id, ...limits }, { bytes: 10, files: 1 })
  await using meter = quotas.meter({ id: known, ...limits })
  await meter.take({ bytes: 10, files: 0 })
  await expect.poll(() => readUsage(db, known)).toEqual({ bytes: MIB, files: 1 })
  // The other folder was not measured, so it costs nothing.
  expect(counted).toEqual([known])
})
