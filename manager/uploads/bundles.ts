import { createHash } from 'node:crypto'
import { type Readable } from 'node:stream'
import { otherForms } from '#base/normal-forms'
import { createOpenCounts } from '#base/open-counts'
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
import { namesThere, pathThere } from '../files/names-there.ts'
import { joinPath, makeDirectories, nameOfPath, parentOf } from '../files/places.ts'
import { replacedSize } from '../files/replaced-size.ts'
import { amount } from '../folders/size-rules.ts'
import { type Directory } from '../storage/beneath.ts'
import { errnoOf, renamedError } from '../storage/file-errors.ts'
import { modeOfUploaded, type UploadedMode } from '../storage/file-state.ts'
import { isPrivate } from '../storage/private-files.ts'
import { createSharedSync, type SharedSync } from '../storage/sync-file-system.ts'
import { componentsOf } from '../storage/file-names.ts'
import { newId } from '../store/new-id.ts'
import { type Caller } from '../users/authorize.ts'
import { type UploadsDeps } from './deps.ts'
import { entriesOf } from './bundle-entries.ts'
import { countMissing } from './count-missing.ts'
import { type Parts, removePart } from './parts.ts'
import { dress, modeOfReplacement, partsOf, putIn } from './place.ts'
import { type WritableFolder } from './writable-folder.ts'

/** Number of directories of one bundle that are filled at the same time. */
const AT_ONCE = 8
/** Most entries and bytes written by one job. */
const BATCH_ENTRIES = 100
const BATCH_BYTES = 1024 * 1024
/** A body that sends no byte for this long is given up. */
const STALLED_MS = 60_000

/** Most bundles of one person at the same time at one manager; the command line sends four. */
const MOST_PER_USER = 16
const RETRY_AFTER_SECONDS = 2

/**
 * Uploads of many small files in one request (`contract/storage/bundles.ts`).
 *
 * The files are collected in the directory of uploads, each under an id of its own. When the whole body has arrived, the file system is
 * synced once, the right to write is checked again, and each file is moved into the folder like other uploads: whole or not at all. No row
 * is written; files of an interrupted request are removed with the other leftovers.
 *
 * Threat model: that of `Uploads`. Received files count towards no quota before they are placed, but take memory and space on the storage:
 * so the number of bundles per person at a time is limited. A file is never placed before the last byte of the body: the signature of a
 * request covers the whole body, and is checked at its end.
 */
export interface Bundles {
  /**
   * @throws AppError `folder_not_found`, `forbidden`, `bad_request`, `body_too_large`, `too_many_files`, `rate_limited`,
   *   `upload_stalled`, `disk_full`, `storage_away`; errors of single entries are in the result
   */
  receive(caller: Caller, folderId: FolderId, body: Readable): Promise<BundleResult>
}

export function createBundles({ parts, openFolder, watch, onPlaced }: BundlesDeps): Bundles {
  const sync = createSharedSync()
  const counts = createOpenCounts()

  function enter(caller: Caller): Disposable {
    const leave = counts.take(caller.userId, MOST_PER_USER)
    if (leave) return { [Symbol.dispose]: leave }
    const why = because('bundles_of_person', { limit: MOST_PER_USER })
    throw new AppError('rate_limited', { ...why, whySaysNext: true, retryAfterSeconds: RETRY_AFTER_SECONDS })
  }

  return {
    async receive(caller, folderId, body) {
      using _place = enter(caller)
      const first = await openFolder(caller, folderId)
      using _watched = watch(caller, folderId, refusal => void body.destroy(refusal))
      await using directory = await parts.open(first.storageHost, caller.userId)
      const staged: Staged[] = []
      try {
        await stageAll(body, directory, staged, { owner: await ownerOf(first), folder: first.name })
        if (staged.some(({ id }) => id !== undefined)) await syncStaged(sync, first.storageHost, { directory, staged })
        // Checked again, because the body may have taken minutes.
        const folder = await openFolder(caller, folderId)
        await using top = await folder.open()
        await nameAsThere(top, staged)
        const replaced = folder.limitsBytes ? await replacedBytes(top, staged) : 0
        const bytes = bytesOf(staged) - replaced
        // In a folder over its size limit, entries without additional bytes are allowed only if none of them is new.
        const isCounted = folder.limitsFiles || (folder.limitsBytes && bytes === 0)
        const made = isCounted ? await countMissing(top, pathsOf(staged)) : 0
        await folder.reserve(amount(bytes, made))
        const items = await placeAll({ top, folder: folder.name }, directory, staged)
        const changed = new Set(items.filter(({ error }) => error === null).map(({ path }) => parentOf(path)))
        for (const parent of changed) onPlaced(caller, folderId, joinPath(parent, '-'))
        return { items }
      } finally {
        for (const { id, isPlaced } of staged) if (id !== undefined && !isPlaced) await removePart(directory, id)
      }
    },
  }
}

export type BundlesDeps = Pick<UploadsDeps, 'openFolder' | 'watch' | 'onPlaced'> & {
  readonly parts: Pick<Parts, 'open'>
}

/** An entry whose bytes have arrived. */
interface Staged {
  /** With the spelling of the existing path, if that differs in its Unicode form. */
  entry: BundleEntry
  /** Name of its file in the directory of uploads; undefined for a directory, and for a failed entry. */
  id?: UploadId
  ownerOnly?: boolean
  error?: EntryError
  isPlaced?: boolean
}

/** Replaces names by existing ones in another Unicode form, directory by directory. */
async function nameAsThere(top: Directory, staged: readonly Staged[]): Promise<void> {
  const others = staged.filter(({ entry, error }) => error === undefined && otherForms(entry.path).length > 0)
  for (const [parent, group] of Map.groupBy(others, ({ entry }) => parentOf(entry.path))) {
    const known = await pathThere(top, parent)
    const given = group.map(({ entry }) => nameOfPath(entry.path))
    const names = await namesIn(top, known, given)
    for (const [index, one] of group.entries())
      one.entry = { ...one.entry, path: joinPath(known, names[index] ?? given[index] ?? '') }
  }
}

/** The names that exist in a directory. If it does not exist or is no directory, it has none: placing the files reports why. */
async function namesIn(top: Directory, path: string, names: readonly string[]): Promise<readonly string[]> {
  try {
    await using directory = await top.walk(path)
    return await namesThere(directory, names)
  } catch (error) {
    if (!isAppError(error)) throw error
    return names
  }
}

const bytesOf = (staged: readonly Staged[]) =>
  staged.reduce((sum, { entry }) => sum + (entry.kind === 'directory' ? 0 : entry.size), 0)

/** Bytes of the files that entries of the bundle replace. */
async function replacedBytes(top: Directory, staged: readonly Staged[]): Promise<number> {
  const paths = staged.flatMap(({ entry, error }) =>
    error === undefined && entry.kind === 'file' && entry.onConflict === 'replace' ? [entry.path] : [],
  )
  let bytes = 0
  for (const path of new Set(paths)) bytes += await replacedSize(top, path)
  return bytes
}

const pathsOf = (staged: readonly Staged[]) =>
  staged.filter(({ error }) => error === undefined).map(({ entry }) => entry.path)

type Owner = { uid: number; gid: number } | undefined

/** Owner of all staged files, and the name of their folder. */
interface Dressing {
  readonly owner: Owner
  readonly folder: string
}

const modeSaid = ({ entry, ownerOnly = false }: Staged): UploadedMode => ({ executable: entry.executable, ownerOnly })

async function ownerOf(folder: WritableFolder): Promise<Owner> {
  await using top = await folder.open()
  return await top.owner()
}

async function stageAll(
  body: Readable,
  directory: Directory,
  staged: Staged[],
  { owner, folder }: Dressing,
): Promise<void> {
  const stalled = () => body.destroy(new AppError('upload_stalled', because('no_byte_arrived')))
  const timer = setTimeout(stalled, STALLED_MS)
  let batch: Arrived[] = []
  let bytes = 0
  let writing = Promise.resolve()
  let failed: { readonly error: unknown } | undefined
  /** Writes a batch while the next one arrives. */
  const write = async () => {
    const full = batch
    batch = []
    bytes = 0
    await writing
    writing = stage(full, directory, owner).catch((error: unknown) => void (failed ??= { error }))
  }
  try {
    for await (const { entry, bytes: own } of entriesOf(body)) {
      timer.refresh()
      const one: Staged = { entry }
      staged.push(one)
      if (entry.kind === 'directory') continue
      one.ownerOnly = entry.ownerOnly || isPrivate({ folder, path: entry.path, head: own })
      batch.push({ one, bytes: own })
      bytes += own.length
      if (batch.length >= BATCH_ENTRIES || bytes >= BATCH_BYTES) await write()
      if (failed) break
    }
    await write()
  } catch (error) {
    throw isCut(error) ? new AppError('upload_stalled', because('connection_cut'), { cause: error }) : error
  } finally {
    clearTimeout(timer)
    await writing
  }
  if (failed) throw failed.error
}

function isCut(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'EPIPE'
}

interface Arrived {
  readonly one: Staged
  readonly bytes: Buffer
}

const dateOf = (text: string | undefined) => (text === undefined ? null : new Date(text))

/** Writes files to the directory of uploads, each under a new id. @throws AppError `disk_full`, `storage_away` */
async function stage(batch: readonly Arrived[], directory: Directory, owner: Owner): Promise<void> {
  if (batch.length === 0) return
  const files = batch.map(({ one, bytes }) => {
    const { sha256 = '', modifiedAt } = one.entry
    const name = (one.id = newId(UploadId))
    return { name, bytes, sha256, owner, mode: modeOfUploaded(modeSaid(one)), modifiedAt: dateOf(modifiedAt) }
  })
  const made = await directory.createMany(files)
  for (const [index, { one, bytes }] of batch.entries()) {
    if (made[index] === true) continue
    if (made[index] === 'damaged') {
      const { path } = one.entry
      delete one.id
      one.error = toEntryError(new AppError('upload_damaged', { path, ...because('upload_other_hash', { path }) }))
    } else
      await stageAlone(one, bytes, { directory, owner }).catch((error: unknown) => {
        throw renamedError(error, one.id ?? '', one.entry.path)
      })
  }
}

/** @throws AppError with the reason why it could not be written with the others */
async function stageAlone(
  one: Staged,
  bytes: Buffer,
  { directory, owner }: { directory: Directory; owner: Owner },
): Promise<void> {
  const { entry, id } = one
  if (id === undefined) return
  await using file = await directory.createPrivate(id)
  await file.write(bytes, 0)
  await dress(file, { owner, mode: modeOfUploaded(modeSaid(one)), modifiedAt: dateOf(entry.modifiedAt) })
  await file.close()
}

/** Waits until the bytes are on the disk: with one call for all files if the system has it. */
async function syncStaged(
  sync: SharedSync,
  host: string,
  { directory, staged }: { directory: Directory; staged: readonly Staged[] },
): Promise<void> {
  if (await sync(host, directory)) return
  for (const { id } of staged) {
    if (id === undefined) continue
    await using file = await directory.open(id, 'write')
    await file.sync()
  }
}

/** Places the entries: the files of each directory together, then the remaining ones one by one. */
async function placeAll(
  { top, folder }: { readonly top: Directory; readonly folder: string },
  parts: Directory,
  staged: readonly Staged[],
): Promise<BundleResult['items']> {
  const items: BundleResult['items'] = staged.map(({ entry, error }) => ({ path: entry.path, error: error ?? null }))
  const byParent = Map.groupBy(staged.keys(), index => parentOf(staged[index]?.entry.path ?? ''))
  const groups = [...byParent].values()
  await Promise.all(Array.from({ length: AT_ONCE }, () => placeGroups()))
  return items

  async function placeGroups(): Promise<void> {
    for (const [parent, indexes] of groups) {
      try {
        await using directory = await makeDirectories(top, { folder, names: componentsOf(parent) })
        await keepModes(directory, indexes)
        const left = await placeMany(directory, indexes)
        for (const index of left) await placeAlone(directory, index)
      } catch (error) {
        for (const index of indexes) fail(index, error)
      }
    }
  }

  /** Gives files the mode of those that they replace, with the changes that the client requested. */
  async function keepModes(directory: Directory, indexes: readonly number[]): Promise<void> {
    const files = indexes.flatMap(index => {
      const one = staged[index] as Staged
      const { id, entry, error } = one
      const isHere = id !== undefined && !error && entry.onConflict === 'replace'
      return isHere ? [{ id, said: modeSaid(one), name: partsOf(entry.path).name }] : []
    })
    if (files.length === 0) return
    const there = await directory.lstatMany(files.map(({ name }) => name))
    for (const [at, { id, said }] of files.entries()) {
      const mode = modeOfReplacement(said, there[at])
      if (mode === modeOfUploaded(said)) continue
      await using file = await parts.open(id, 'write')
      await file.setMode(mode)
    }
  }

  /** @returns those that were not placed */
  async function placeMany(directory: Directory, indexes: readonly number[]): Promise<number[]> {
    const files = indexes.filter(index => {
      const { id, error } = staged[index] ?? {}
      return id !== undefined && !error
    })
    if (files.length === 0) return [...indexes]
    const moves = files.map(index => {
      const { id = '', entry } = staged[index] as Staged
      return { name: id, toName: partsOf(entry.path).name, replace: entry.onConflict === 'replace' }
    })
    const moved = await parts.moveMany(moves, directory)
    const placed = new Set(files.filter((_index, at) => moved[at]))
    for (const index of placed) {
      const one = staged[index]
      if (one) one.isPlaced = true
    }
    return indexes.filter(index => !placed.has(index))
  }

  async function placeAlone(directory: Directory, index: number): Promise<void> {
    const one = staged[index]
    if (!one || one.error) return
    try {
      items[index] = { path: await placeOne({ top, folder, directory }, parts, one), error: null }
    } catch (error) {
      fail(index, error)
    }
  }

  function fail(index: number, error: unknown): void {
    const path = staged[index]?.entry.path ?? ''
    if (items[index]?.error === null) items[index] = { path, error: toEntryError(error) }
  }
}

async function placeOne(
  { top, folder, directory }: { readonly top: Directory; readonly folder: string; readonly directory: Directory },
  parts: Directory,
  one: Staged,
): Promise<string> {
  const { entry, id } = one
  const { name } = partsOf(entry.path)
  if (id === undefined) {
    await using _made = await makeDirectories(top, { folder, names: componentsOf(entry.path) })
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

/** Whether a file contains the bytes of an entry. */
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
