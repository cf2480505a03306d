import { constants, type StatsFs } from 'node:fs'
import {
  chown,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readlink,
  rename,
  rmdir,
  statfs,
  symlink,
  unlink,
} from 'node:fs/promises'
import { defined } from '#base/defined'
import { AppError, because } from '#manager/contract'
import { type NewFile } from './batch-jobs.ts'
import { type CallOptions, type StorageCalls } from './calls.ts'
import { Descriptor } from './descriptor.ts'
import { errnoOf, THE_DIRECTORY, toFileError } from './file-errors.ts'
import { bytesOf, componentsOf } from './file-names.ts'
import { type FileState, stateOf } from './file-state.ts'
import { type Listing, openListing } from './listing.ts'
import { createOpenFile, type OpenFile, PERMISSIONS } from './open-file.ts'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
/** Opens a file for its state only: neither a FIFO nor a device notices. Node has no name for it. @see open(2) */
const O_PATH = 0o10_000_000
const DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/**
 * An open directory in a folder. Names are text as `nameOf` writes it; each is one component.
 *
 * Threat model: sessions fill folders and change them at the same time; the manager may be root. Every call names a file as
 * `/proc/self/fd/N/NAME`, relative to a descriptor that is held, and follows no link: a directory that is swapped for a link
 * does not lead out of the folder. Nothing but regular files is opened for reading or writing. A regular file with several
 * names that does not belong to the owner of the folder is refused: one of its names may be outside. Sessions cannot make
 * such links (their mounts end at the folder), and a new file never goes into an existing one.
 *
 * New entries belong to the owner of the top of the folder. The agent gives the top to the user of sessions when a session
 * mounts the folder for the first time, and then everything in it that is still root's.
 *
 * All methods throw the AppErrors of `toFileError`, and `path_invalid` for a name that is none.
 */
export interface Directory extends AsyncDisposable {
  /** The directory itself. */
  state(): Promise<FileState>
  /** The state of one entry; of a link itself, never of its target. @throws AppError `file_not_found` */
  lstat(name: string): Promise<FileState>
  enter(name: string): Promise<Directory>
  /** Enters one directory after the other. @param path components separated by `/`; `''` opens the same directory again */
  walk(path: string): Promise<Directory>
  /** Entries in the order of the file system. The listing must be closed. */
  list(): Promise<Listing>
  /** Opens a regular file. @throws AppError `file_kind_refused` */
  open(name: string, access?: 'read' | 'write'): Promise<OpenFile>
  /** Makes a file that does not exist and opens it for reading and writing. @throws AppError `file_exists` */
  create(name: string, mode?: number): Promise<OpenFile>
  /** As `create`, for a file that only the manager can read, whoever owns the folder. @throws AppError `file_exists` */
  createPrivate(name: string): Promise<OpenFile>
  /**
   * Makes many files as `createPrivate`, with their bytes, owner, time and mode.
   *
   * @returns for each whether it was made; of one that was not, `createPrivate` tells why. `damaged`: its bytes have another hash
   */
  createMany(files: readonly ManyFile[]): Promise<readonly (boolean | 'damaged')[]>
  /** Moves many files. @returns for each whether it was moved; of one that was not, `rename` or `renameNew` tells why */
  moveMany(
    moves: readonly {
      readonly name: string
      readonly toName: string
      readonly replace: boolean
    }[],
    to: Directory,
  ): Promise<readonly boolean[]>
  /**
   * Reads the beginning of a list of files whole.
   *
   * @param most no further file is read when so many bytes are
   * @returns at least one; undefined for one that is no regular file, larger than `largest` or not readable: `open` tells which
   */
  readMany(
    names: readonly string[],
    limits: { readonly largest: number; readonly most: number },
  ): Promise<(ManyRead | undefined)[]>
  /** States of many entries. @returns undefined for one of which `lstat` tells why it has none */
  lstatMany(names: readonly string[]): Promise<readonly (FileState | undefined)[]>
  /** @throws AppError `file_exists` */
  mkdir(name: string, mode?: number): Promise<void>
  /** Makes a link with any text as its target. @throws AppError `file_exists` */
  symlink(name: string, target: Buffer): Promise<void>
  /** Text of a link. */
  readlink(name: string): Promise<Buffer>
  /** Moves an entry and replaces what is there, except for a directory that is not empty. */
  rename(name: string, to: Directory, toName: string): Promise<void>
  /** Moves an entry. @throws AppError `file_exists` */
  renameNew(name: string, to: Directory, toName: string): Promise<void>
  /** Makes a second name of a file or link. @throws AppError `file_exists` */
  link(name: string, to: Directory, toName: string): Promise<void>
  unlink(name: string): Promise<void>
  /** @throws AppError `directory_not_empty` */
  rmdir(name: string): Promise<void>
  /** Figures of the file system that holds the directory. */
  fileSystem(): Promise<StatsFs>
  /** Changes the permission bits of the directory itself. */
  setMode(mode: number): Promise<void>
  setTimes(accessed: Date, modified: Date): Promise<void>
  /** The user and group that new entries get; undefined where they are the manager's own. */
  owner(): Promise<{ uid: number; gid: number } | undefined>
  /** Runs a call with `/proc/self/fd/N` of this directory, which stays valid until the call returns. */
  withPath<T>(call: (path: string) => Promise<T>): Promise<T>
}

/** A file that is made with others. */
export interface ManyFile extends Pick<NewFile, 'sha256' | 'owner' | 'modifiedAt' | 'mode'> {
  readonly name: string
  readonly bytes: Uint8Array
}

/** A file that was read with others. */
export interface ManyRead {
  readonly state: FileState
  readonly bytes: Uint8Array
}

/**
 * Opens the top of a folder. It must be closed last: its owner becomes that of new files.
 *
 * @param path absolute; no session may be able to rename its parents
 */
export async function openTop(path: string, calls: StorageCalls): Promise<Directory> {
  return createDirectory({ ...(await openDirectory(path, calls, path)), calls })
}

interface Opened {
  readonly descriptor: Descriptor
  /** Descriptor of the folder's top; left out for the top itself. */
  readonly top?: Descriptor
  readonly calls: StorageCalls
}

async function openDirectory(
  path: string | Buffer,
  calls: StorageCalls,
  name: string,
): Promise<{ descriptor: Descriptor }> {
  const handle = await calls
    .run(() => open(path, DIRECTORY), { late: closeLate })
    .catch((error: unknown) => {
      throw toFileError(error, name)
    })
  return { descriptor: new Descriptor(handle, calls) }
}

const closeLate = (handle: FileHandle) => handle.close().catch(() => undefined)

/** Directories of this module, for calls that name two of them. */
const descriptors = new WeakMap<Directory, Descriptor>()

function createDirectory({ descriptor, top = descriptor, calls }: Opened): Directory {
  /** Runs a call with the path of an entry. */
  async function at<T>(name: string, call: (path: Buffer) => Promise<T>, late?: (result: T) => unknown): Promise<T> {
    const bytes = bytesOf(name)
    try {
      return await calls.run(() => descriptor.use(handle => call(below(handle, bytes))), defined({ late }))
    } catch (error) {
      throw toFileError(error, name)
    }
  }

  /** Runs a call with the paths of an entry here and of one in another directory. */
  async function between(
    name: string,
    [to, toName]: readonly [Directory, string],
    call: (from: Buffer, to: Buffer) => Promise<void>,
  ): Promise<void> {
    const other = descriptors.get(to)
    if (!other) throw new Error('a directory of another kind')
    const target = bytesOf(toName)
    await at(name, from => other.use(handle => call(from, below(handle, target)))).catch((error: unknown) => {
      const isOfTarget = ['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR', 'EXDEV'].includes(errnoOf(error) ?? '')
      throw isOfTarget && error instanceof AppError ? toFileError(error.cause, toName) : error
    })
  }

  /** Runs a call on the directory itself. */
  const own = <T>(call: (handle: FileHandle) => Promise<T>, options: CallOptions<T> = {}): Promise<T> =>
    calls
      .run(() => descriptor.use(call), options)
      .catch((error: unknown) => {
        throw toFileError(error, THE_DIRECTORY)
      })

  const stateOfTop = () =>
    calls
      .run(() => top.use(handle => handle.stat()))
      .catch((error: unknown) => {
        throw toFileError(error, THE_DIRECTORY)
      })

  async function owner(): Promise<{ uid: number; gid: number } | undefined> {
    if (process.getuid?.() !== 0) return undefined
    const { uid, gid } = await stateOfTop()
    return uid === 0 ? undefined : { uid, gid }
  }

  /** Gives a new directory to the owner of the folder. */
  async function adopt(entry: Descriptor, mode: number): Promise<void> {
    const to = await owner()
    await calls.run(() =>
      entry.use(async handle => {
        const { uid } = await handle.stat()
        // A session may have put something else under the name.
        if (uid !== process.getuid?.()) return
        if (to) await handle.chown(to.uid, to.gid)
        await handle.chmod(mode)
      }),
    )
  }

  async function openAny(name: string): Promise<Descriptor> {
    const handle = await at(name, path => open(path, O_PATH | O_NOFOLLOW), closeLate)
    return new Descriptor(handle, calls)
  }

  async function createFile(name: string): Promise<Descriptor> {
    const flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
    return new Descriptor(await at(name, path => open(path, flags, 0o600), closeLate), calls)
  }

  async function lstatOf(name: string): Promise<FileState> {
    return stateOf(await at(name, path => lstat(path, { bigint: true })))
  }

  async function enter(name: string): Promise<Directory> {
    const handle = await at(name, path => open(path, DIRECTORY), closeLate)
    return createDirectory({ descriptor: new Descriptor(handle, calls), top, calls })
  }

  async function again(): Promise<Directory> {
    const opened = await own(({ fd }) => open(`/proc/self/fd/${fd}`, O_RDONLY | O_DIRECTORY), { late: closeLate })
    return createDirectory({ descriptor: new Descriptor(opened, calls), top, calls })
  }

  const self: Directory = {
    state: async () => stateOf(await own(handle => handle.stat({ bigint: true }))),
    lstat: lstatOf,
    enter,
    owner,

    async walk(path) {
      const [first, ...rest] = componentsOf(path)
      let here = await (first === undefined ? again() : enter(first))
      for (const name of rest) {
        try {
          const next = await here.enter(name)
          await here[Symbol.asyncDispose]()
          here = next
        } catch (error) {
          await here[Symbol.asyncDispose]()
          throw error
        }
      }
      return here
    },

    list: () => openListing(descriptor, calls),

    async open(name, access = 'read') {
      // The kind is checked on a descriptor that reads nothing; the file is then opened by that descriptor.
      await using found = await openAny(name)
      const { kind, links, uid } = stateOf(await calls.run(() => found.use(handle => handle.stat({ bigint: true }))))
      if (kind !== 'file') throw notAFile(name, kind)
      if (links > 1) {
        if (uid !== (await stateOfTop()).uid) throw foreignLink(name)
      }
      const flags = (access === 'read' ? O_RDONLY : O_RDWR) | O_NONBLOCK
      const handle = await calls
        .run(() => found.use(({ fd }) => open(`/proc/self/fd/${fd}`, flags)), { late: closeLate })
        .catch((error: unknown) => {
          throw toFileError(error, name)
        })
      return createOpenFile({ descriptor: new Descriptor(handle, calls), calls, name })
    },

    async create(name, mode = 0o644) {
      const made = await createFile(name)
      try {
        const to = await owner()
        // The descriptor is that of the new file, whatever a session has put under the name since.
        await calls.run(() =>
          made.use(async handle => {
            if (to) await handle.chown(to.uid, to.gid)
            await handle.chmod(mode)
          }),
        )
        return createOpenFile({ descriptor: made, calls, name })
      } catch (error) {
        await made[Symbol.asyncDispose]()
        throw toFileError(error, name)
      }
    },

    createPrivate: async name => createOpenFile({ descriptor: await createFile(name), calls, name }),

    async createMany(files) {
      const bytes = new Uint8Array(files.reduce((sum, file) => sum + file.bytes.length, 0))
      let offset = 0
      const described = files.map(({ name, bytes: own, ...file }): NewFile => {
        bytes.set(own, offset)
        offset += own.length
        return { ...file, name: rawName(name), offset: offset - own.length, size: own.length }
      })
      return calls.batch((thread, signal) =>
        descriptor.use(({ fd }) =>
          thread.run(
            'write',
            { directory: fd, files: described, bytes: bytes.buffer },
            { moved: [bytes.buffer], signal },
          ),
        ),
      )
    },

    async moveMany(moves, to) {
      const other = descriptors.get(to)
      if (!other) throw new Error('a directory of another kind')
      const raw = moves.map(({ name, toName, replace }) => ({ name: rawName(name), toName: rawName(toName), replace }))
      return calls.batch((thread, signal) =>
        descriptor.use(from =>
          other.use(target => thread.run('move', { from: from.fd, to: target.fd, moves: raw }, { signal })),
        ),
      )
    },

    async readMany(names, limits) {
      const raw = names.map(rawName)
      const { files, bytes } = await calls.batch((thread, signal) =>
        descriptor.use(here =>
          top.use(owner =>
            thread.run('read', { directory: here.fd, top: owner.fd, names: raw, ...limits }, { signal }),
          ),
        ),
      )
      return files.map(file => file && { state: file.state, bytes: new Uint8Array(bytes, file.offset, file.size) })
    },

    async lstatMany(names) {
      const raw = names.map(rawName)
      return calls.batch((thread, signal) =>
        descriptor.use(({ fd }) => thread.run('states', { directory: fd, names: raw }, { signal })),
      )
    },

    async mkdir(name, mode = 0o755) {
      await at(name, path => mkdir(path, 0o700))
      await using made = new Descriptor(await at(name, path => open(path, DIRECTORY), closeLate), calls)
      await adopt(made, mode)
    },

    async symlink(name, target) {
      await at(name, path => symlink(target, path))
      const to = await owner()
      if (!to) return
      await using made = await openAny(name)
      await calls.run(() =>
        made.use(async handle => {
          const found = await handle.stat()
          if (found.isSymbolicLink() && found.uid === 0) await chown(`/proc/self/fd/${handle.fd}`, to.uid, to.gid)
        }),
      )
    },

    readlink: name => at(name, path => readlink(path, { encoding: 'buffer' })),
    rename: (name, to, toName) => between(name, [to, toName], rename),
    link: (name, to, toName) => between(name, [to, toName], link),

    async renameNew(name, to, toName) {
      const { kind } = await lstatOf(name)
      if (kind === 'directory') {
        // An empty directory takes the name, and `rename` replaces it only while it is empty.
        await to.mkdir(toName)
        try {
          await between(name, [to, toName], rename)
        } catch (error) {
          await to.rmdir(toName).catch(() => undefined) // not empty any more: a session uses it
          throw error
        }
        return
      }
      try {
        await between(name, [to, toName], link)
      } catch (error) {
        if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error
        // A file system without hard links: what a session makes between these two calls is replaced.
        const found = await to.lstat(toName).catch(() => undefined)
        if (found)
          throw new AppError(
            'file_exists',
            { name: toName, ...because('file_there', { name: toName }) },
            { cause: error },
          )
        await between(name, [to, toName], rename)
        return
      }
      await at(name, unlink)
    },

    unlink: name => at(name, unlink),
    rmdir: name => at(name, rmdir),
    fileSystem: () => own(({ fd }) => statfs(`/proc/self/fd/${fd}`)),
    setMode: mode => own(handle => handle.chmod(mode & PERMISSIONS)),
    setTimes: (accessed, modified) => own(handle => handle.utimes(accessed, modified)),
    withPath: call => descriptor.use(({ fd }) => call(`/proc/self/fd/${fd}`)),
    [Symbol.asyncDispose]: () => descriptor[Symbol.asyncDispose](),
  }
  descriptors.set(self, descriptor)
  return self
}

/** Errors of file systems that have no hard links, or refuse one more. */
const NO_LINKS = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'])

const below = ({ fd }: FileHandle, name: Buffer) => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])

/** @see BatchJobs */
const rawName = (name: string) => bytesOf(name).toString('latin1')

function notAFile(name: string, kind: FileState['kind']): AppError {
  const cause = kind === 'directory' ? 'file_is_directory' : kind === 'link' ? 'file_is_link' : 'file_is_special'
  return new AppError('file_kind_refused', { name, ...because(cause, { name }) })
}

function foreignLink(name: string): AppError {
  return new AppError('file_kind_refused', { name, ...because('foreign_hard_link', { name }) })
}
