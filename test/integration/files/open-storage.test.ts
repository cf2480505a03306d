import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FolderId } from '#manager/contract'
import { createStorageHosts } from '../../../manager/storage/storage-hosts.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Db } from '../../../manager/store/schema.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

/** Descriptors of this process that are open on a path or below it. */
async function openBelow(path: string): Promise<number> {
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map(name => readlink(join('/proc/self/fd', name)).catch(() => '')))
  return targets.filter(target => target.startsWith(path)).length
}

test('a database that fails while a storage is opened leaves no descriptor open', async () => {
  await using directory = await temporaryDirectory()
  await using opened = await openTestStore()
  const { db } = opened.store
  let queries = Infinity
  /** The database fails after so many queries. */
  const failing = new Proxy(db, {
    get(target, key) {
      if (key === 'selectFrom' && queries-- <= 0) throw new Error('the database is away')
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  }) satisfies Db
  const storage = createStorageHosts({ db: failing, paths: new Map([['local', directory.path]]) })
  await storage.list()
  const id = newId(FolderId)
  await storage.create('local', id)
  {
    await using top = await storage.open('local', id)
    expect(await top.owner()).toBeUndefined()
    expect(await openBelow(directory.path)).toBe(1)
  }
  for (const enough of [0, 1]) {
    queries = enough
    await expect(storage.open('local', id)).rejects.toThrow('the database is away')
    expect(await openBelow(directory.path)).toBe(0)
  }
})
