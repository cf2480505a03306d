import { type FileHandle, lchown, lstat, readlink, symlink, unlink } from 'node:fs/promises'
import { AppError, because } from '#manager/contract'
import { type SessionUser } from '../docker/container-config.ts'
import { findDirectory, isInTheWay, makeDirectories } from './mount-points.ts'

/**
 * Links in the homes of running sessions to their added folders. They lead to paths of the container.
 *
 * Threat model: everything in a home is hostile, and may change at any moment. Parents are walked by descriptors without following a link;
 * the agent creates and compares links, and never opens their targets. A session that replaces the link between comparison and removal
 * loses only its own file.
 */

/** Makes the link, or leaves it as it is. @param path relative to the home @throws AppError `folder_path_taken` */
export async function putLink(home: string, path: string, target: string, user: SessionUser): Promise<void> {
  const { parents, name } = split(path)
  const directory = await makeDirectories(home, parents, user).catch((error: unknown) => {
    throw isInTheWay(error) ? taken(path) : error
  })
  try {
    const link = inside(directory, name)
    const isNew = await symlink(target, link).then(
      () => true,
      async (error: unknown) => {
        if ((await readlink(link).catch(() => undefined)) === target) return false
        throw isCode(error, 'EEXIST') ? taken(path) : error
      },
    )
    if (isNew && process.getuid?.() === 0) await lchown(link, user.uid, user.gid)
  } finally {
    await directory.close()
  }
}

/** @throws AppError `folder_path_taken` if anything other than this link is at the path */
export async function requireFree(home: string, path: string, target: string): Promise<void> {
  const { parents, name } = split(path)
  const directory = await findDirectory(home, parents).catch((error: unknown) => {
    throw isInTheWay(error) ? taken(path) : error
  })
  if (!directory) return
  try {
    const link = inside(directory, name)
    if ((await readlink(link).catch(() => undefined)) === target) return
    if (await lstat(link).catch(() => undefined)) throw taken(path)
  } finally {
    await directory.close()
  }
}

/** Removes a link for which `isOurs` is true; leaves anything else as it is. */
export async function dropLink(home: string, path: string, isOurs: (target: string) => boolean): Promise<void> {
  const { parents, name } = split(path)
  const directory = await findDirectory(home, parents).catch(() => undefined)
  if (!directory) return
  try {
    const link = inside(directory, name)
    const target = await readlink(link).catch(() => undefined)
    if (target !== undefined && isOurs(target)) await unlink(link)
  } finally {
    await directory.close()
  }
}

function split(path: string): { parents: string[]; name: string } {
  const parts = path.split('/')
  return { parents: parts.slice(0, -1), name: parts.at(-1) ?? '' }
}

const inside = (directory: FileHandle, name: string) => `/proc/self/fd/${directory.fd}/${name}`

function taken(path: string): AppError {
  return new AppError('folder_path_taken', { path, ...because('folder_path_taken', { path }) })
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
