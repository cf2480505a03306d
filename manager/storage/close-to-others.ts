import { chmod, lstat } from 'node:fs/promises'
import { errnoOf } from './file-errors.ts'

/** A directory through which other users of this computer may pass. */
const OF_OTHERS = 0o077

/**
 * Takes a directory from everybody but its owner, root and those who have it open. Does nothing where it is missing.
 *
 * Threat model: sessions own the files below it, and all sessions run as one user. A session can make a set-user-id program, and mount
 * options of the file system are the administrator's. A user of this computer who could reach that program by its path would become the
 * user of all sessions.
 *
 * @throws the error of the file system, e.g. EPERM where the directory belongs to somebody else
 */
export async function closeToOthers(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error
  })
  if (found && (found.mode & OF_OTHERS) !== 0) await chmod(path, 0o700)
}
