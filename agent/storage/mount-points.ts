import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { AppError, because } from '#manager/contract'
import { type SessionUser } from '../docker/container-config.ts'
import { unlessFull } from '../unless-full.ts'
import { unlessMissing } from '../unless-missing.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * Makes the directories at which folders are mounted, owned by the session user: directories made by the engine would belong to root, and
 * the user could not write beside the folder.
 *
 * @param home absolute @param path relative to the home
 * @throws `kernel_create_failed` if a file or a link is in the way, `disk_full`
 */
export async function makeMountPoint(home: string, path: string, user: SessionUser): Promise<void> {
  const made = await makeDirectories(home, path.split('/'), user).catch((error: unknown) => {
    if (!isInTheWay(error)) throw unlessFull(error, home)
    throw new AppError('kernel_create_failed', because('mount_over_file', { path }), { cause: error })
  })
  await made.close()
}

/** Whether `makeDirectories` failed because of a file or a link. */
export function isInTheWay(error: unknown): boolean {
  return isCode(error, 'ENOTDIR') || isCode(error, 'ELOOP')
}

/**
 * Makes directories in a home, owned by the session user, and opens the last one.
 *
 * Threat model: an earlier session may have left anything in the home. The path is walked by descriptors without following a link, so
 * nothing is made outside of the home.
 *
 * @param parts of the path, relative to the home; none opens the home itself
 * @throws an error for which `isInTheWay` is true if a file or a link is in the way
 */
export async function makeDirectories(home: string, parts: readonly string[], user: SessionUser): Promise<FileHandle> {
  let at = await open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    for (const part of parts) {
      const next = await enter(at, part, user)
      await at.close()
      at = next
    }
    return at
  } catch (error) {
    await at.close()
    throw error
  }
}

/**
 * Opens a directory in a home, without following a link.
 *
 * @returns undefined if there is none
 * @throws an error for which `isInTheWay` is true if a file or a link is in the way
 */
export async function findDirectory(home: string, parts: readonly string[]): Promise<FileHandle | undefined> {
  let at = await open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(unlessMissing)
  for (const part of parts) {
    if (!at) return undefined
    const parent: FileHandle = at
    try {
      at = await open(`/proc/self/fd/${parent.fd}/${part}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(unlessMissing)
    } finally {
      await parent.close()
    }
  }
  return at
}

async function enter(parent: FileHandle, part: string, { uid, gid }: SessionUser): Promise<FileHandle> {
  const child = `/proc/self/fd/${parent.fd}/${part}`
  const isNew = await mkdir(child, 0o755).then(
    () => true,
    (error: unknown) => {
      if (isCode(error, 'EEXIST')) return false
      throw error
    },
  )
  const opened = await open(child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    // A directory of root that is not new: the agent crashed right after creating it.
    if (process.getuid?.() === 0 && (isNew || (await opened.stat()).uid === 0)) await opened.chown(uid, gid)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
