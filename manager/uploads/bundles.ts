import { createHash } from 'node:crypto'
import { type Readable } from 'node:stream'
import {
  AppError,
  because,
  type BundleEntry,
  type BundleResult,
  type EntryError,
  type FolderId,
  isAppError,
  toWireError,
  UploadId,
} from '#manager/contract'
import { joinPath, makeDirectories, parentOf } from '../files/places.ts'
import { type Directory } from '../storage/beneath.ts'
import { errnoOf } from '../storage/file-errors.ts'
import { syncFileSystem } from '../storage/sync-file-system.ts'
import { componentsOf } from '../storage/file-names.ts'
import { newId } from '../store/new-id.ts'
import { type Caller } from '../users/authorize.ts'
import { entriesOf, type ReceivedEntry } from './bundle-entries.ts'
import { type Parts, removePart } from './parts.ts'
import { dress, partsOf, putIn } from './place.ts'
import { type UploadsDeps, type WritableFolder } from './uploads.ts'

/** Files of one bundle that are written at the same time. */
const AT_ONCE = 8
/** A body of which no byte arrives for this long is given up. */
const STALLED_MS = 60_000

/**
 * Uploads of many small files in one request (`contract/bundles.ts`).
 *
 * The files are collected where those of other uploads are, each under an id of its own. When the whole body has arrived, the file system is
 * synced once, the right to write is checked again, and each file is moved into the folder as other uploads are: whole or not
 * at all. No row is written; files of a request that was cut are removed with the other leftovers.
 *
 * Threat model: that of `Uploads`. A file is never placed before the last byte of the body: the signature of a request covers
 * the whole body, and is compared at its end.
 */
export interface Bundles {
  /**
   * @throws AppError `folder_not_found`, `forbidden`, `bad_request`, `body_too_large`, `too_many_files`, `upload_stalled`,
   *   `disk_full`, `storage_away`; errors of single entries are in the result
   */
  receive(caller: Caller, folderId: FolderId, body: Readable): Promise<BundleResult>
}

export function createBundles({ parts, openFolder, onPlaced }: BundlesDeps): Bundles {
  return {
    async receive(caller, folderId, body) {
      const first = await openFolder(caller, folderId)
      await using directory = await parts.open(first.storageHost)
      const staged: Staged[] = []
      try {
        await stageAll(body, directory, staged, await ownerOf(first))
        if (staged.some(({ id }) => id !== undefined)) await syncStaged(directory, staged)
        // Checked again: the body may have taken minutes.
        const folder = await openFolder(caller, folderId)
        await folder.takeRoom(staged.reduce((sum, { entry }) => sum + (entry.kind === 'directory' ? 0 : entry.size), 0))
        await using top = await folder.open()
        const items = await placeAll(top, directory, staged)
        const changed = new Set(items.filter(({ error }) => error === null).map(({ path }) => parentOf(path)))
        for (const parent of changed) onPlaced(caller, folderId, joinPath(parent, '-'))
        return { items }
      } finally {
        for (const { id, isPlaced } of staged) if (id !== undefined && !isPlaced) await removePart(directory, id)
      }
    },
  }
}

export type BundlesDeps = Pick<UploadsDeps, 'openFolder' | 'onPlaced'> & { readonly parts: Pick<Parts, 'open'> }

/** An entry whose bytes have arrived. */
interface Staged {
  readonly entry: BundleEntry
  /** Name of its file in the directory of uploads; undefined for a directory, and for an entry that failed. */
  id?: UploadId
  error?: EntryError
  isPlaced?: boolean
}

type Owner = { uid: number; gid: number } | undefined

async function ownerOf(folder: WritableFolder): Promise<Owner> {
  await using top = await folder.open()
  return await top.owner()
}

async function stageAll(body: Readable, directory: Directory, staged: Staged[], owner: Owner): Promise<void> {
  const stalled = () => body.destroy(new AppError('upload_stalled', because('no_byte_arrived')))
  const timer = setTimeout(stalled, STALLED_MS)
  const running = new Set<Promise<void>>()
  let failed: { readonly error: unknown } | undefined
  try {
    for await (const received of entriesOf(body)) {
      timer.refresh()
      const one: Staged = { entry: received.entry }
      staged.push(one)
      if (received.entry.kind === 'directory') continue
      const work = stage(received, directory, one, owner)
        .catch((error: unknown) => void (failed ??= { error }))
        .finally(() => running.delete(work))
      running.add(work)
      if (running.size >= AT_ONCE) await Promise.race(running)
      if (failed) break
    }
  } catch (error) {
    throw isCut(error) ? new AppError('upload_stalled', because('connection_cut'), { cause: error }) : error
  } finally {
    clearTimeout(timer)
    await Promise.all(running)
  }
  if (failed) throw failed.error
}

function isCut(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'EPIPE'
}

async function stage({ entry, bytes }: ReceivedEntry, directory: Directory, one: Staged, owner: Owner): Promise<void> {
  if (createHash('sha256').update(bytes).digest('hex') !== entry.sha256) {
    const { path } = entry
    one.error = toEntryError(new AppError('upload_damaged', { path, ...because('upload_other_hash', { path }) }))
    return
  }
  const id = newId(UploadId)
  await using file = await directory.createPrivate(id)
  one.id = id
  await file.write(bytes, 0)
  await dress(file, { owner, modifiedAt: entry.modifiedAt === undefined ? null : new Date(entry.modifiedAt) })
  await file.close()
}

/** Waits until the bytes are on the disk: with one call for all files where the system has it. */
async function syncStaged(directory: Directory, staged: readonly Staged[]): Promise<void> {
  if (await syncFileSystem(directory)) return
  for (const { id } of staged) {
    if (id === undefined) continue
    await using file = await directory.open(id, 'write')
    await file.sync()
  }
}

/** Places the entries, several at the same time. */
async function placeAll(top: Directory, parts: Directory, staged: readonly Staged[]): Promise<BundleResult['items']> {
  const items: BundleResult['items'] = staged.map(({ entry, error }) => ({ path: entry.path, error: error ?? null }))
  const byParent = Map.groupBy(staged.keys(), index => parentOf(staged[index]?.entry.path ?? ''))
  const groups = [...byParent].values()
  await Promise.all(Array.from({ length: AT_ONCE }, () => placeGroups()))
  return items

  async function placeGroups(): Promise<void> {
    for (const [parent, indexes] of groups) {
      try {
        await using directory = await makeDirectories(top, componentsOf(parent))
        const rest = indexes.values()
        // Several directories are filled at the same time; a single one by several workers.
        const workers = byParent.size === 1 ? AT_ONCE : 1
        await Promise.all(Array.from({ length: workers }, () => placeEach(directory, rest)))
      } catch (error) {
        for (const index of indexes) fail(index, error)
      }
    }
  }

  async function placeEach(directory: Directory, indexes: Iterator<number>): Promise<void> {
    for (let next = indexes.next(); !next.done; next = indexes.next()) {
      const one = staged[next.value]
      if (!one || one.error) continue
      try {
        const path = await placeOne(directory, parts, one)
        items[next.value] = { path, error: null }
      } catch (error) {
        fail(next.value, error)
      }
    }
  }

  function fail(index: number, error: unknown): void {
    const path = staged[index]?.entry.path ?? ''
    if (items[index]?.error === null) items[index] = { path, error: toEntryError(error) }
  }
}

async function placeOne(directory: Directory, parts: Directory, one: Staged): Promise<string> {
  const { entry, id } = one
  const { name } = partsOf(entry.path)
  if (id === undefined) {
    await using _made = await makeDirectories(directory, [name])
    return entry.path
  }
  const taken = await putIn(
    directory,
    { id, directory: parts },
    {
      name,
      onConflict: entry.onConflict,
      ...(entry.again ? { isSame: (there: string) => hasBytes(directory, there, entry) } : {}),
    },
  )
  one.isPlaced = true
  return joinPath(parentOf(entry.path), taken)
}

/** Whether a file has the bytes of an entry. */
async function hasBytes(directory: Directory, name: string, { size, sha256 }: BundleEntry): Promise<boolean> {
  try {
    await using file = await directory.open(name)
    if ((await file.state()).size !== size) return false
    const bytes = Buffer.alloc(size)
    let read = 0
    while (read < size) {
      const count = await file.read(bytes.subarray(read), read)
      if (count === 0) return false
      read += count
    }
    return createHash('sha256').update(bytes).digest('hex') === sha256
  } catch (error) {
    if (isAppError(error) || errnoOf(error) !== undefined) return false
    throw error
  }
}

function toEntryError(error: unknown): EntryError {
  const { code, message, detail } = toWireError(error)
  return { code, message, data: { ...detail } }
}
