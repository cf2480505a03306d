import { AppError, because, type FileConflict, isAppError, type UploadId } from '#manager/contract'
import { BufferPair, chunksOf } from '../files/content.ts'
import { pathThere } from '../files/names-there.ts'
import { isCode, makeDirectories, takeName } from '../files/places.ts'
import { newDraftName } from '../storage/drafts.ts'
import { type Directory } from '../storage/beneath.ts'
import { errnoOf, renamedError } from '../storage/file-errors.ts'
import { componentsOf } from '../storage/file-names.ts'
import { type FileState, modeOfUploaded, type UploadedMode } from '../storage/file-state.ts'
import { type OpenFile, PERMISSIONS } from '../storage/open-file.ts'
import { HEAD_BYTES, isPrivate } from '../storage/private-files.ts'

/** Destination of an uploaded file. */
export interface Placement extends UploadedMode {
  readonly path: string
  readonly onConflict: FileConflict
  readonly modifiedAt: Date | null
}

/** A complete file outside the folder. */
export interface Part {
  readonly id: UploadId
  readonly directory: Directory
  readonly file: OpenFile
}

/**
 * Moves a complete file into a folder, with the owner of files that a session writes, and the mode of `modeFor`. Missing directories are
 * created. The file appears whole or not at all.
 *
 * @param folder its name
 * @param onRenamed called before the file gets a different path: a name with a number, or existing names in another Unicode form
 * @returns the path that the file has
 * @throws AppError `file_exists`, `file_kind_refused`, `path_invalid`
 */
export async function place(
  { top, folder }: { readonly top: Directory; readonly folder: string },
  { id, directory, file }: Part,
  { path, onConflict, modifiedAt, ...said }: Placement,
  onRenamed: (path: string) => Promise<void>,
): Promise<string> {
  const known = await pathThere(top, path)
  if (known !== path) await onRenamed(known)
  const { parents, name } = partsOf(known)
  await using parent = await makeDirectories(top, { folder, names: parents })
  const ownerOnly = said.ownerOnly || isPrivate({ folder, path: known, head: await headOf(file) })
  const mode = await modeFor(parent, { name, onConflict, executable: said.executable, ownerOnly })
  await dress(file, { owner: await top.owner(), modifiedAt, mode })
  await file.sync()
  const pathOf = (taken: string) => [...parents, taken].join('/')
  const taken = await putIn(parent, { id, directory }, { name, onConflict, onName: free => onRenamed(pathOf(free)) })
  return pathOf(taken)
}

async function headOf(file: OpenFile): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES)
  return head.subarray(0, await file.read(head, 0))
}

/**
 * Mode of a file that gets a name in a directory: the mode of the regular file that it replaces (as if a session had written into that),
 * with the changes that the client requested.
 */
async function modeFor(
  parent: Directory,
  { name, onConflict, ...said }: UploadedMode & { readonly name: string; readonly onConflict: FileConflict },
): Promise<number> {
  if (onConflict !== 'replace') return modeOfUploaded(said)
  const replaced = await parent.lstat(name).catch((error: unknown) => {
    if (!isCode(error, 'file_not_found')) throw error
    return undefined
  })
  return modeOfReplacement(said, replaced)
}

/** @param replaced undefined if there is no such file */
export const modeOfReplacement = (said: UploadedMode, replaced: FileState | undefined): number =>
  modeOfUploaded(said, replaced?.kind === 'file' ? replaced.mode & PERMISSIONS : undefined)

export interface Dress {
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
  readonly modifiedAt: Date | null
  /** Permission bits. */
  readonly mode: number
}

/** Sets the owner, mode and time that a file will have in the folder. */
export async function dress(file: OpenFile, { owner, modifiedAt, mode }: Dress): Promise<void> {
  if (owner) await file.setOwner(owner)
  await file.setMode(mode)
  if (modifiedAt) await file.setTimes(modifiedAt, modifiedAt)
}

export interface Naming {
  readonly name: string
  readonly onConflict: FileConflict
  /** Called before the file gets a different name, with a number. */
  readonly onName?: (name: string) => Promise<void>
  /** Whether the file with the name counts as this one; if left out, it never does. */
  readonly isSame?: (name: string) => Promise<boolean>
}

/**
 * Moves a complete file from the directory of uploads into an open directory of a folder. If the directory is on another file system, or
 * under another quota, the bytes are first copied into the directory under a temporary name. A refused file is not moved.
 *
 * @returns the name that it has there
 */
export async function putIn(
  parent: Directory,
  part: Omit<Part, 'file'>,
  { name, onConflict, onName, isSame }: Naming,
): Promise<string> {
  let from: Spot = { directory: part.directory, name: part.id }
  const isCopied = () => from.directory === parent
  async function move(act: (from: Spot) => Promise<void>): Promise<void> {
    try {
      await act(from)
    } catch (error) {
      if (errnoOf(error) !== 'EXDEV' || isCopied()) throw error
      from = await copyBeside(part, parent)
      await act(from)
    }
  }
  try {
    const taken = await takeName(name, onConflict, {
      async make(free) {
        if (free !== name) await onName?.(free)
        await move(spot => spot.directory.renameNew(spot.name, parent, free)).catch(async (error: unknown) => {
          const isTaken = isAppError(error) && error.code === 'file_exists'
          if (!isTaken || !(await isSame?.(free))) throw error
          await from.directory.unlink(from.name)
        })
      },
      replace: existing => move(spot => spot.directory.rename(spot.name, parent, existing)),
    })
    if (isCopied()) await part.directory.unlink(part.id)
    return taken
  } catch (error) {
    // The first error is the one to report; the draft is removed later.
    if (isCopied()) await parent.unlink(from.name).catch(() => undefined)
    throw renamedError(renamedError(error, from.name, name), part.id, name)
  }
}

interface Spot {
  readonly directory: Directory
  readonly name: string
}

/** Copies a complete file into another directory under a temporary name that listings leave out, and waits until it is on the disk. */
async function copyBeside({ id, directory }: Omit<Part, 'file'>, to: Directory): Promise<Spot> {
  const name = newDraftName()
  await using source = await directory.open(id)
  const { size, modifiedAt, mode } = await source.state()
  await using copy = await to.create(name, mode & PERMISSIONS)
  try {
    let at = 0
    for await (const chunk of chunksOf(source, 0, size, new BufferPair())) {
      await copy.write(chunk, at)
      at += chunk.byteLength
    }
    await copy.setTimes(modifiedAt, modifiedAt)
    await copy.sync()
    await copy.close()
    return { directory: to, name }
  } catch (error) {
    await to.unlink(name).catch(() => undefined) // the first error is the one to report
    throw renamedError(error, name, id)
  }
}

/** @throws AppError `path_invalid` for the folder itself */
export function partsOf(path: string): { parents: string[]; name: string } {
  const parents = componentsOf(path)
  const name = parents.pop()
  if (name === undefined) throw new AppError('path_invalid', because('path_names_file'))
  return { parents, name }
}

/** Refuses a path that is known to be taken, before any byte is sent. @throws AppError `file_exists`, `path_invalid` */
export async function requireFree(
  top: Directory,
  { path, onConflict }: Pick<Placement, 'path' | 'onConflict'>,
): Promise<void> {
  const { parents, name } = partsOf(path)
  if (onConflict === 'rename') return
  try {
    await using parent = await top.walk(parents.join('/'))
    const { kind } = await parent.lstat(name)
    if (onConflict === 'replace' && kind !== 'directory') return
    throw new AppError('file_exists', {
      name,
      ...because(kind === 'directory' ? 'directory_there' : 'file_there', { name: path }),
    })
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}
