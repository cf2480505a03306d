import { chown, type FileHandle, mkdir, symlink } from 'node:fs/promises'
import { type DirectoryCalls } from './directory-calls.ts'
import { toFileError } from './file-errors.ts'
import { createOpenFile, type OpenFile } from './open-file.ts'

/**
 * Creates entries in an open directory. New entries belong to the owner of the folder's top directory. When a session mounts the folder for
 * the first time, the agent gives the top directory, and then everything in it that still belongs to root, to the user of sessions.
 */
export interface NewEntries {
  /** Creates a file and opens it for reading and writing. @throws AppError `file_exists` */
  create(name: string, mode?: number): Promise<OpenFile>
  /** Like `create`, for a file that only the manager can read, whoever owns the folder. @throws AppError `file_exists` */
  createPrivate(name: string): Promise<OpenFile>
  /** @throws AppError `file_exists` */
  mkdir(name: string, mode?: number): Promise<void>
  /** Creates a symbolic link with any text as its target. @throws AppError `file_exists` */
  symlink(name: string, target: Buffer): Promise<void>
  /** User and group that new entries get; undefined if these are the manager's own. */
  owner(): Promise<{ uid: number; gid: number } | undefined>
}

export function createNewEntries(here: DirectoryCalls, top: DirectoryCalls): NewEntries {
  const { calls } = here

  async function owner(): Promise<{ uid: number; gid: number } | undefined> {
    if (process.getuid?.() !== 0) return undefined
    const { uid, gid } = await top.own(handle => handle.stat())
    return uid === 0 ? undefined : { uid, gid }
  }

  return {
    owner,

    async create(name, mode = 0o644) {
      const made = await here.createFile(name)
      try {
        const to = await owner()
        // The descriptor refers to the new file, even if a session has replaced the name since.
        await calls.run(() => made.use(handle => give(handle, to, mode)))
        return createOpenFile({ descriptor: made, calls, name })
      } catch (error) {
        await made[Symbol.asyncDispose]()
        throw toFileError(error, name)
      }
    },

    createPrivate: async name => createOpenFile({ descriptor: await here.createFile(name), calls, name }),

    async mkdir(name, mode = 0o755) {
      await calls.requireRoom?.(0)
      await here.at(name, path => mkdir(path, 0o700))
      await using made = (await here.openDirectory(name)).descriptor
      const to = await owner()
      await calls.run(() =>
        made.use(async handle => {
          const { uid } = await handle.stat()
          // A session may have put another entry under the name.
          if (uid === process.getuid?.()) await give(handle, to, mode)
        }),
      )
    },

    async symlink(name, target) {
      await here.at(name, path => symlink(target, path))
      const to = await owner()
      if (!to) return
      await using made = await here.openAny(name)
      await calls.run(() =>
        made.use(async handle => {
          const found = await handle.stat()
          if (found.isSymbolicLink() && found.uid === 0) await chown(`/proc/self/fd/${handle.fd}`, to.uid, to.gid)
        }),
      )
    },
  }
}

async function give(handle: FileHandle, to: { uid: number; gid: number } | undefined, mode: number): Promise<void> {
  if (to) await handle.chown(to.uid, to.gid)
  await handle.chmod(mode)
}
