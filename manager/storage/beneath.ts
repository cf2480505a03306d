import { constants, type StatsFs } from 'node:fs'
import { link, lstat, open, readlink, rename, rmdir, statfs, unlink } from 'node:fs/promises'
import { AppError, because } from '#manager/contract'
import { type StorageCalls } from './calls.ts'
import { Descriptor } from './descriptor.ts'
import { below, closeLate, DIRECTORY, DirectoryCalls } from './directory-calls.ts'
import { errnoOf, toFileError } from './file-errors.ts'
import { bytesOf, componentsOf } from './file-names.ts'
import { type FileState, stateOf } from './file-state.ts'
import { type Listing, openListing } from './listing.ts'
import { createManyEntries, type ManyEntries, rawName } from './many-entries.ts'
import { createNewEntries, type NewEntries } from './new-entries.ts'
import { createOpenFile, type OpenFile, PERMISSIONS } from './open-file.ts'
import { createPathEntries, type PathEntries } from './path-entries.ts'

const { O_DIRECTORY, O_NONBLOCK, O_RDONLY, O_RDWR } = constants

/**
 * An open directory in a folder. Names are text as `nameOf` writes it; each is one component.
 *
 * Threat model: sessions fill folders and change them at the same time; the manager may be root. Every call names a file as
 * `/proc/self/fd/N/NAME`, relative to a descriptor that is held, and follows no link: a directory that is replaced by a link does not lead
 * out of the folder. Only regular files are opened for reading or writing. A regular file with several names that does not belong to the
 * owner of the folder is refused: one of its names may be outside. Sessions cannot make such links (their mounts end at the folder), and a
 * new file never goes into an existing one.
 *
 * All methods throw the AppErrors of `toFileError`, and `path_invalid` for an invalid name.
 */
export interface Directory extends NewEntries, ManyEntries, PathEntries, AsyncDisposable {
  /** State of the directory itself. */
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
  /** Moves many files. @returns for each whether it was moved; if not, `rename` or `renameNew` reports the reason */
  moveMany(
    moves: readonly {
      readonly name: string
      readonly toName: string
      readonly replace: boolean
    }[],
    to: Directory,
  ): Promise<readonly boolean[]>
  /** Text of a link. */
  readlink(name: string): Promise<Buffer>
  /** Moves an entry and replaces the existing one, except for a directory that is not empty. */
  rename(name: string, to: Directory, toName: string): Promise<void>
  /** Moves an entry. @throws AppError `file_exists` */
  renameNew(name: string, to: Directory, toName: string): Promise<void>
  /** Makes a second name of a file or link. @throws AppError `file_exists` */
  link(name: string, to: Directory, toName: string): Promise<void>
  unlink(name: string): Promise<void>
  /** @throws AppError `directory_not_empty` */
  rmdir(name: string): Promise<void>
  /** Statistics of the file system that holds the directory. */
  fileSystem(): Promise<StatsFs>
  /** Changes the permission bits of the directory itself. */
  setMode(mode: number): Promise<void>
  setTimes(accessed: Date, modified: Date): Promise<void>
  /** Runs a call with `/proc/self/fd/N` of this directory, which stays valid until the call returns. */
  withPath<T>(call: (path: string) => Promise<T>): Promise<T>
}

/**
 * Opens the top of a folder. Close it last: new files get its owner.
 *
 * @param path absolute; no session may be able to rename its parents
 */
export async function openTop(path: string, calls: StorageCalls): Promise<Directory> {
  const handle = await calls
    .run(() => open(path, DIRECTORY), { late: closeLate })
    .catch((error: unknown) => {
      throw toFileError(error, path)
    })
  return createDirectory(new DirectoryCalls(handle, calls))
}

/** Open descriptors of this module's directories, for calls that need two directories. */
const descriptors = new WeakMap<Directory, Descriptor>()

function descriptorOf(directory: Directory): Descriptor {
  const descriptor = descriptors.get(directory)
  if (!descriptor) throw new Error('a directory of another kind')
  return descriptor
}

function createDirectory(here: DirectoryCalls, top = here): Directory {
  const { descriptor, calls } = here

  /** Runs a call with the path of an entry here and the path of an entry in another directory. */
  async function between(
    name: string,
    [to, toName]: readonly [Directory, string],
    call: (from: Buffer, to: Buffer) => Promise<void>,
  ): Promise<void> {
    const other = descriptorOf(to)
    const target = bytesOf(toName)
    await here
      .at(name, from => other.use(handle => call(from, below(handle, target))))
      .catch((error: unknown) => {
        const isOfTarget = ['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR', 'EXDEV'].includes(errnoOf(error) ?? '')
        throw isOfTarget && error instanceof AppError ? toFileError(error.cause, toName) : error
      })
  }

  async function lstatOf(name: string): Promise<FileState> {
    return stateOf(await here.at(name, path => lstat(path, { bigint: true })))
  }

  const enter = async (name: string) => createDirectory(await here.openDirectory(name), top)

  async function again(): Promise<Directory> {
    const opened = await here.own(({ fd }) => open(`/proc/self/fd/${fd}`, O_RDONLY | O_DIRECTORY), { late: closeLate })
    return createDirectory(new DirectoryCalls(opened, calls), top)
  }

  const self: Directory = {
    ...createNewEntries(here, top),
    ...createManyEntries(here, top),
    ...createPathEntries(here, top),
    state: async () => stateOf(await here.own(handle => handle.stat({ bigint: true }))),
    lstat: lstatOf,
    enter,

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
      // The kind is checked on a descriptor that cannot read; the file is then opened through that descriptor.
      await using found = await here.openAny(name)
      const { kind, links, uid } = stateOf(await calls.run(() => found.use(handle => handle.stat({ bigint: true }))))
      if (kind !== 'file') throw notAFile(name, kind)
      if (links > 1) {
        if (uid !== (await top.own(handle => handle.stat())).uid) throw foreignLink(name)
      }
      const flags = (access === 'read' ? O_RDONLY : O_RDWR) | O_NONBLOCK
      const handle = await calls
        .run(() => found.use(({ fd }) => open(`/proc/self/fd/${fd}`, flags)), { late: closeLate })
        .catch((error: unknown) => {
          throw toFileError(error, name)
        })
      return createOpenFile({ descriptor: new Descriptor(handle, calls), calls, name })
    },

    async moveMany(moves, to) {
      const other = descriptorOf(to)
      const raw = moves.map(({ name, toName, replace }) => ({ name: rawName(name), toName: rawName(toName), replace }))
      return calls.batch((thread, signal) =>
        descriptor.use(from =>
          other.use(target => thread.run('move', { from: from.fd, to: target.fd, moves: raw }, { signal })),
        ),
      )
    },

    readlink: name => here.at(name, path => readlink(path, { encoding: 'buffer' })),
    rename: (name, to, toName) => between(name, [to, toName], rename),
    link: (name, to, toName) => between(name, [to, toName], link),

    async renameNew(name, to, toName) {
      const { kind } = await lstatOf(name)
      if (kind === 'directory') {
        // An empty directory reserves the name; `rename` replaces it only while it is empty.
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
        // A file system without hard links: a file that a session creates between these two calls is replaced.
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
      await here.at(name, unlink)
    },

    unlink: name => here.at(name, unlink),
    rmdir: name => here.at(name, rmdir),
    fileSystem: () => here.own(({ fd }) => statfs(`/proc/self/fd/${fd}`)),
    setMode: mode => here.own(handle => handle.chmod(mode & PERMISSIONS)),
    setTimes: (accessed, modified) => here.own(handle => handle.utimes(accessed, modified)),
    withPath: call => descriptor.use(({ fd }) => call(`/proc/self/fd/${fd}`)),
    [Symbol.asyncDispose]: () => descriptor[Symbol.asyncDispose](),
  }
  descriptors.set(self, descriptor)
  return self
}

/** Errors of file systems that have no hard links, or refuse a further one. */
const NO_LINKS = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'])

function notAFile(name: string, kind: FileState['kind']): AppError {
  const cause = kind === 'directory' ? 'file_is_directory' : kind === 'link' ? 'file_is_link' : 'file_is_special'
  return new AppError('file_kind_refused', { name, ...because(cause, { name }) })
}

function foreignLink(name: string): AppError {
  return new AppError('file_kind_refused', { name, ...because('foreign_hard_link', { name }) })
}
