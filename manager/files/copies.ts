import { AppError, because, type CopyLeftOut, type FileMoveSpec } from '#manager/contract'
import { type Amount, amount } from '../folders/size-rules.ts'
import { newDraftName } from '../storage/drafts.ts'
import { type Directory } from '../storage/beneath.ts'
import { renamedError } from '../storage/file-errors.ts'
import { type FileState } from '../storage/file-state.ts'
import { mayDelete, type Moved, removeEntry, type Storage } from './changes.ts'
import { BufferPair, CHUNK_BYTES, chunksOf } from './content.ts'
import { type CopyReservation } from './copy-reservation.ts'
import { namesThere, nameThere } from './names-there.ts'
import { isCode, joinPath, nameOfPath, takeName } from './places.ts'
import { type Spot } from './replaced-size.ts'
import { digestOfTree, type TreeDigest } from './tree-digest.ts'
import { passOver } from './walk.ts'

const MOST_LEVELS = 128

/** Counts of a copy in progress. */
export interface CopyProgress {
  files: number
  bytes: number
  /** Entries that the copy lacks; undefined if there are none. */
  leftOut?: CopyLeftOut
}

/** Largest number of named paths that a copy lacks. */
const MOST_NAMED = 100

function leaveOut(progress: CopyProgress, path: string): void {
  const { paths, total } = progress.leftOut ?? { paths: [], total: 0 }
  progress.leftOut = { paths: total < MOST_NAMED ? [...paths, path] : paths, total: total + 1 }
}

export interface CopyJob {
  /** Reserves this much of the folder's limits before it is written. @throws AppError `quota_folder_full`, … */
  readonly reserve: (more: Amount) => Promise<void>
  readonly progress: CopyProgress
  readonly signal: AbortSignal
  /** Set for a move, whose originals are deleted afterwards: copied files are recorded here, and nothing may be left out. */
  readonly noted?: TreeDigest
}

/**
 * Copies one entry: under a random name first, so that a partial copy is never mistaken for a whole one. Links are copied as links; pipes,
 * sockets, devices, directories that lie too deep and unreadable entries are left out, and recorded in the progress. Permissions and times
 * of files are kept.
 *
 * @returns its new path, and whether files are still to be removed: those of a failed copy, or replaced ones
 * @throws AppError `file_changed` if, for a move, the original has changed since it was copied
 */
export async function copyEntry(
  { from, target, path }: { from: Spot; target: Directory; path: string },
  { to, name, onConflict }: Pick<FileMoveSpec, 'to' | 'name' | 'onConflict'>,
  {
    storage,
    reservation,
    ...rest
  }: Omit<CopyJob, 'reserve'> & { readonly storage: Storage; readonly reservation: CopyReservation },
): Promise<Moved & { swept: boolean }> {
  const draft = newDraftName()
  const job = { ...rest, reserve: (more: Amount) => reservation.take(more) }
  let swept = false
  try {
    const wanted = await nameThere(target, name ?? from.name)
    await reservation.begin(mayDelete(onConflict) ? { directory: target, name: wanted } : undefined, job.signal)
    await copyOne(job, from, { directory: target, name: draft }, { path: from.name, level: 1 })
    if (job.noted) await requireUnchanged(from, job.noted, job.signal)
    const taken = await takeName(await nameThere(target, name ?? from.name), onConflict, {
      make: toName => target.renameNew(draft, target, toName),
      replace: async toName => {
        const place = { directory: target, name: toName }
        await reservation.replace(place, job.signal, async () => {
          swept = (await removeEntry(storage, place).catch(passOver)) === true
        })
        await target.renameNew(draft, target, toName)
      },
    })
    return { path, to: joinPath(to, taken), swept }
  } catch (error) {
    // The first error is the one to report.
    await removeEntry(storage, { directory: target, name: draft })
      .then(() => reservation.undo())
      .catch(() => undefined)
    throw renamedError(error, draft, name ?? from.name)
  }
}

/** @throws AppError `file_kind_refused` if the destination is the entry or lies in it */
export function requireOutside(path: string, to: string): void {
  if (!`${to}/`.startsWith(`${path}/`)) return
  throw new AppError('file_kind_refused', { path, ...because('copy_into_itself', { path }) })
}

/**
 * Refuses a copy whose name is taken, before anything is copied: a copy may take long. `copyEntry` detects names that are taken later.
 *
 * @throws AppError `file_exists`, with the first name
 */
export async function requireFreeNames(target: Directory, { paths, name, onConflict }: FileMoveSpec): Promise<void> {
  if (onConflict !== 'fail') return
  const names = await namesThere(
    target,
    paths.map(path => name ?? nameOfPath(path)),
  )
  const states = await target.lstatMany(names)
  const index = states.findIndex(state => state !== undefined)
  const [taken, path] = [names[index], paths[index]]
  if (taken === undefined || path === undefined) return
  throw new AppError('file_exists', { name: taken, path, done: 0, ...because('file_there', { name: taken }) })
}

async function requireUnchanged(from: Spot, copied: TreeDigest, signal: AbortSignal): Promise<void> {
  const now = await digestOfTree(from, signal).catch(passOver)
  if (now?.sum() === copied.sum()) return
  const { name } = from
  throw new AppError('file_changed', { name, ...because('changed_while_moved', { name }) })
}

/**
 * Copies everything in a directory into another one, which may lie on another storage. It leaves out the same entries as `copyEntry`.
 *
 * @throws AppError `disk_full`; the reason of the signal
 */
export async function copyEntries(source: Directory, target: Directory, job: CopyJob): Promise<void> {
  await copyChildren(job, source, target, { path: '', level: 1 })
}

/** Position of the copy. @property path below the copied directory */
interface Depth {
  readonly path: string
  readonly level: number
}

async function copyOne(job: CopyJob, from: Spot, to: Spot, at: Depth): Promise<void> {
  job.signal.throwIfAborted()
  const state = await from.directory.lstat(from.name)
  job.noted?.add(state)
  await job.reserve(amount(0, 1))
  if (state.kind === 'directory') await copyDirectory(job, from, to, { ...at, state })
  else if (state.kind === 'link') await to.directory.symlink(to.name, await from.directory.readlink(from.name))
  else if (state.kind === 'file') await copyFile(job, from, to)
  else throw new AppError('file_kind_refused', { name: from.name, ...because('special_file', { name: from.name }) })
  job.progress.files++
}

async function copyDirectory(
  job: CopyJob,
  from: Spot,
  to: Spot,
  { state, path, level }: Depth & { readonly state: FileState },
): Promise<void> {
  if (level > MOST_LEVELS) {
    const { name } = from
    throw new AppError('path_invalid', { name, ...because('nested_copy', { name, levels: MOST_LEVELS }) })
  }
  await using source = await from.directory.enter(from.name)
  // The owner can write to it while it is filled, whatever the permissions of the original.
  await to.directory.mkdir(to.name, (state.mode & 0o777) | 0o700)
  await using made = await to.directory.enter(to.name)
  await copyChildren(job, source, made, { path, level: level + 1 })
}

/** Drafts are not listed, so a directory that is copied into itself does not include its own copy. */
async function copyChildren(job: CopyJob, source: Directory, made: Directory, { path, level }: Depth): Promise<void> {
  await using listing = await source.list()
  for (let batch = await listing.next(); batch.length > 0; batch = await listing.next()) {
    for (const { name } of batch) {
      const below = joinPath(path, name)
      const copied = copyOne(job, { directory: source, name }, { directory: made, name }, { path: below, level })
      await (job.noted ? copied : copied.catch((error: unknown) => passOverOf(job, error, below)))
    }
  }
}

/** Like `passOver`, but the end of the copy may have the same code as an unreadable entry, and is never ignored. */
function passOverOf({ signal, progress }: CopyJob, error: unknown, path: string): void {
  signal.throwIfAborted()
  if (!isCode(error, 'path_invalid')) passOver(error)
  // An entry that was deleted meanwhile is not missing.
  if (!isCode(error, 'file_not_found')) leaveOut(progress, path)
}

const ZEROS = Buffer.alloc(CHUNK_BYTES)
const isZero = (bytes: Buffer) => bytes.equals(ZEROS.subarray(0, bytes.length))

async function copyFile({ progress, signal, reserve }: CopyJob, from: Spot, to: Spot): Promise<void> {
  await using source = await from.directory.open(from.name)
  const { size, mode, modifiedAt } = await source.state()
  await using made = await to.directory.create(to.name, mode & 0o777)
  let at = 0
  let written = 0
  for await (const chunk of chunksOf(source, 0, size, new BufferPair())) {
    signal.throwIfAborted()
    const end = at + chunk.byteLength
    // Holes stay holes: a sparse file of a session could fill the storage otherwise.
    if (!isZero(chunk)) {
      await reserve(amount(chunk.byteLength, 0))
      await made.write(chunk, at)
      written = end
    }
    at = end
    progress.bytes += chunk.byteLength
  }
  if (written < at) await made.truncate(at)
  await made.setTimes(modifiedAt, modifiedAt)
  await made.close()
}
