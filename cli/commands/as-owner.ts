import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '#manager/contract'

/** User and group of the data directory of a Berth that runs as a user of its own. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * The user as whom root must work in a data directory: the database accepts only its own user, and written files must belong to this user.
 * @returns undefined if the caller is that user, or is not root
 */
export async function ownerOf(data: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const found = await stat(data).catch(() => undefined)
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : undefined
}

/**
 * Lets that user write a file, which then becomes root's at `target`.
 *
 * Threat model: the user is a service that may have been taken over, so root follows no path that the user may change. The user writes to a
 * new directory for temporary files, and root opens the result without following a link. The user never gets access to the directory of the
 * target.
 */
export async function takeFrom<T>(owner: Owner, target: string, write: (file: string) => Promise<T>): Promise<T> {
  if (await stat(target).catch(() => undefined)) throw new AppError('bad_request', { why: `${target} already exists.` })
  await using place = await makePlace()
  await place.giveTo(owner)
  const result = await write(place.file)
  await using source = await open(place.file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if (!(await source.stat()).isFile()) throw new AppError('internal', { why: 'The backup is no file.' })
  const partial = `${target}.partial-${process.pid}`
  try {
    await using made = await open(partial, 'wx', 0o600)
    await copy(source, made)
    await rename(partial, target)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return result
}

/** Gives that user a copy of a file that only root may read. */
export async function giveTo<T>(owner: Owner, source: string, read: (file: string) => Promise<T>): Promise<T> {
  await using place = await makePlace()
  {
    await using from = await open(source).catch((error: unknown) => {
      const why = `${source} cannot be read: ${error instanceof Error ? error.message : String(error)}`
      throw new AppError('bad_request', { why }, { cause: error })
    })
    await using to = await open(place.file, 'wx', 0o600)
    await to.chown(owner.uid, owner.gid)
    await copy(from, to)
  }
  await place.giveTo(owner)
  return await read(place.file)
}

async function makePlace() {
  const path = await mkdtemp(join(tmpdir(), 'berth-backup-'))
  return {
    file: join(path, 'berth.backup'),
    async giveTo({ uid, gid }: Owner) {
      await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      await directory.chown(uid, gid)
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

const COPY_BYTES = 1024 * 1024

async function copy(from: FileHandle, to: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafe(COPY_BYTES)
  for (;;) {
    const { bytesRead } = await from.read(buffer)
    if (bytesRead === 0) break
    await to.appendFile(buffer.subarray(0, bytesRead))
  }
  await to.sync()
}
