import { AppError, because, type FileMoveSpec } from '#manager/contract'
import { newDraftName } from '../storage/drafts.ts'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { type Moved, removeEntry, type Storage } from './changes.ts'
import { BufferPair, CHUNK_BYTES, chunksOf } from './content.ts'
import { joinPath, openPlace, takeName } from './places.ts'
import { passOver } from './walk.ts'

const MOST_LEVELS = 128

/** Counts of a copy in progress. */
export interface CopyProgress {
  files: number
  bytes: number
}

interface CopyJob {
  /** Takes room in the folder before so many bytes are written. @throws AppError `quota_folder_full`, `quota_total_full` */
  readonly takeRoom: (bytes: number) => Promise<void>
  readonly progress: CopyProgress
  readonly signal: AbortSignal
}

/**
 * Copies one entry: under a random name first, so that a partial copy is never mistaken for a whole one. Links are copied as
 * links; pipes, sockets, devices and what cannot be read are left out. Permissions and times of files are kept.
 *
 * @returns its new path, and whether files are still to be removed: those of a copy that failed, or that were replaced
 */
export async function copyEntry(
  { top, target, path }: { top: Directory; target: Directory; path: string },
  { to, name, onConflict }: FileMoveSpec,
  { storage, progress, signal, takeRoom }: CopyJob & { readonly storage: Storage },
): Promise<Moved & { swept: boolean }> {
  if (`${to}/`.startsWith(`${path}/`)) {
    throw new AppError('file_kind_refused', { path, ...because('copy_into_itself', { path }) })
  }
  await using from = await openPlace(top, path)
  const draft = newDraftName()
  const job: CopyJob = { progress, signal, takeRoom }
  let swept = false
  try {
    await copyOne(job, from, { directory: target, name: draft }, 1)
    const taken = await takeName(name ?? from.name, onConflict, {
      make: toName => target.renameNew(draft, target, toName),
      replace: async toName => {
        swept = (await removeEntry(storage, { directory: target, name: toName }).catch(passOver)) === true
        await target.renameNew(draft, target, toName)
      },
    })
    return { path, to: joinPath(to, taken), swept }
  } catch (error) {
    await removeEntry(storage, { directory: target, name: draft }).catch(() => undefined) // the first error is the one to report
    throw error
  }
}

/**
 * Copies everything in a directory into another one, which may lie on another storage. What is left out is that of `copyEntry`.
 *
 * @throws AppError `path_invalid` if directories are nested too deeply, `disk_full`; the reason of the signal
 */
export async function copyEntries(source: Directory, target: Directory, job: CopyJob): Promise<void> {
  await copyChildren(job, source, target, 1)
}

interface Spot {
  readonly directory: Directory
  readonly name: string
}

async function copyOne(job: CopyJob, from: Spot, to: Spot, level: number): Promise<void> {
  job.signal.throwIfAborted()
  const state = await from.directory.lstat(from.name)
  if (state.kind === 'directory') await copyDirectory(job, from, to, { state, level })
  else if (state.kind === 'link') await to.directory.symlink(to.name, await from.directory.readlink(from.name))
  else if (state.kind === 'file') await copyFile(job, from, to)
  else throw new AppError('file_kind_refused', { name: from.name, ...because('special_file', { name: from.name }) })
  job.progress.files++
}

async function copyDirectory(
  job: CopyJob,
  from: Spot,
  to: Spot,
  { state, level }: { state: FileState; level: number },
): Promise<void> {
  if (level > MOST_LEVELS) {
    const { name } = from
    throw new AppError('path_invalid', { name, ...because('nested_copy', { name, levels: MOST_LEVELS }) })
  }
  await using source = await from.directory.enter(from.name)
  // The owner can write to it while it is filled, whatever the permissions of the original.
  await to.directory.mkdir(to.name, (state.mode & 0o777) | 0o700)
  await using made = await to.directory.enter(to.name)
  await copyChildren(job, source, made, level + 1)
}

/** Drafts are not listed, so a copy of the directory that it is made in does not copy itself. */
async function copyChildren(job: CopyJob, source: Directory, made: Directory, level: number): Promise<void> {
  await using listing = await source.list()
  for (let batch = await listing.next(); batch.length > 0; batch = await listing.next()) {
    for (const { name } of batch)
      await copyOne(job, { directory: source, name }, { directory: made, name }, level).catch(passOver)
  }
}

const ZEROS = Buffer.alloc(CHUNK_BYTES)
const isZero = (bytes: Buffer) => bytes.equals(ZEROS.subarray(0, bytes.length))

async function copyFile({ progress, signal, takeRoom }: CopyJob, from: Spot, to: Spot): Promise<void> {
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
      await takeRoom(chunk.byteLength)
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
