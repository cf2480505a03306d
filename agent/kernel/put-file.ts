import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, rename, rm } from 'node:fs/promises'
import { AppError, because } from '#manager/contract'
import { type SessionUser } from '../docker/container-config.ts'
import { unlessFull } from '../unless-full.ts'

export interface PutOptions {
  readonly mode: number
  /** Default: the agent. */
  readonly owner?: SessionUser | undefined
}

/**
 * Writes a file under a temporary name and renames it, so that a reader never sees a part of it.
 *
 * Threat model: the directory may belong to a hostile user, who can put anything under any name at any moment. The new file has a random
 * name and is created, never opened (O_EXCL, O_NOFOLLOW); mode and owner are set by its descriptor; the rename replaces a link and does not
 * follow it. A directory at the place is kept under another name.
 *
 * @throws `disk_full`
 */
export async function putFile(path: string, content: string, { mode, owner }: PutOptions): Promise<void> {
  const beside = `${path}.${randomUUID()}`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  try {
    const file = await open(beside, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
    try {
      await file.writeFile(content)
      await file.chmod(mode) // whatever the umask of the agent
      if (owner) await file.chown(owner.uid, owner.gid)
    } finally {
      await file.close()
    }
    await rename(beside, path).catch(async (error: unknown) => {
      if (!(await isDirectory(path))) throw error
      await keepAside(path)
      await rename(beside, path)
    })
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined) // the first error is the one to report
    throw unlessFull(error, path)
  }
}

/** `path.1`, or the first number that is free. */
async function keepAside(path: string): Promise<void> {
  for (let number = 1; number < 100; number++) {
    const aside = `${path}.${number}`
    if (await lstat(aside).catch(() => undefined)) continue
    return rename(path, aside)
  }
  throw new AppError('files_gone', because('all_variants_folders', { path }))
}

async function isDirectory(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() ?? false
}
