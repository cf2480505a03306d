import { type FolderId, type FolderPermission, isAppError } from '#manager/contract'
import { isCode, joinPath } from '../files/places.ts'
import { type FileHints } from '../files/hints.ts'
import { type FolderRoom, type Meter } from '../folders/room.ts'
import { type Amount, amount, isLimited } from '../folders/size-rules.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { type OpenFile, PERMISSIONS } from '../storage/open-file.ts'
import { modeOfDirectory, modeOfFile } from '../storage/private-files.ts'
import { followingLinks, realPathOf } from '../storage/real-path.ts'
import { attributesOf, modeOf } from './attributes.ts'
import { ChangeCount } from './changes-made.ts'
import { FilledPart } from './filled-part.ts'
import { figuresOf, figuresOfTop } from './figures.ts'
import { type FileHandle, type Handle, Handles } from './handles.ts'
import { nextEntries } from './list-entries.ts'
import { OwnFiles } from './own-files.ts'
import { absolute, inFolder, type Place, placeOf, splitPath } from './place.ts'
import {
  type Attributes,
  END,
  type NamedEntry,
  OK,
  OPEN,
  type Reply,
  type Request,
  type RequestOf,
} from './protocol.ts'
import { Refused } from './refused.ts'
import { resize } from './resize.ts'
import { type HeldFolder, type Tree } from './tree.ts'

/** Requests other than reads and writes that need the folders. */
export type PlainRequest = Exclude<Request, RequestOf<'read' | 'write' | 'limits' | 'refused'>>

/** The operations of one connection on the folders of its user. Disposing closes everything that it has open. */
export interface Operations extends AsyncDisposable {
  /** Changes so far. */
  readonly changes: ChangeCount
  /** @throws AppError, Refused */
  answer(request: PlainRequest): Promise<Reply>
  /** Fills adjacent parts from an open file. @returns number of bytes; 0 at the end of the file @throws AppError, Refused */
  read(handle: string, position: number, into: readonly Uint8Array[]): Promise<number>
  /** Writes adjacent parts into an open file. @throws AppError, Refused */
  write(handle: string, position: number, parts: readonly Uint8Array[]): Promise<void>
}

export interface OperationsDeps {
  readonly tree: Tree
  readonly hints: Pick<FileHints, 'changed'>
  readonly room: Pick<FolderRoom, 'meter' | 'require' | 'freeing'>
}

const ONE_FILE = amount(0, 1)
/** Rights of the owner that a client cannot take away. A manager that is not root reads files as their owner, also to copy and download them. */
const LEAST_OF_FILE = 0o400
/** As above; Berth makes and removes entries too, e.g. when it empties the trash. */
const LEAST_OF_DIRECTORY = 0o700
const TOP_MODE = modeOf('directory', 0o555)

type Inside = Extract<Place, { kind: 'inside' }>

/** An entry of a directory that is open for one operation. */
interface Spot {
  readonly held: HeldFolder
  readonly directory: Directory
  readonly path: string
  readonly name: string
}

/**
 * Carries out the requests of one connection.
 *
 * A permission counts as in the HTTP API: `ro` lists and reads, `rw` makes files and changes them, `delete` also renames and
 * deletes. Programs upload under a temporary name; so a file that the connection itself has made may be renamed, and be deleted,
 * with `rw`. Each operation checks the right anew, also on files that are open (`leases.ts`).
 *
 * Links are followed as on a server of OpenSSH, as long as they stay in the folder (`storage/real-path.ts`): on the way to an entry always, and at
 * the end of a path by `open`, `stat`, `setstat`, `opendir` and `realpath`.
 */
export function createOperations({ tree, hints, room }: OperationsDeps): Operations {
  const handles = new Handles()
  const changes = new ChangeCount()
  const own = new OwnFiles()
  /** Room of folders that this connection writes to, with the row by whose limits it is measured. */
  const meters = new Map<FolderId, { readonly row: FolderRow; readonly meter: Meter }>()

  /** Takes room for a write. Limits are read with the rights, at most two seconds ago. @throws AppError `quota_folder_full`, … */
  async function takeRoom(row: FolderRow, more: Amount): Promise<void> {
    const known = meters.get(row.id)
    if (known?.row === row) return known.meter.take(more)
    const meter = room.meter(row)
    meters.set(row.id, { row, meter })
    await known?.meter[Symbol.asyncDispose]()
    await meter.take(more)
  }

  /** Changes a file. @throws as `resize` */
  async function apply(id: FolderId, file: OpenFile, { size, mode, times }: Attributes): Promise<void> {
    const row = await tree.require(id, 'rw')
    if (size !== undefined) await resize(room, row, { file, size })
    if (mode !== undefined) await file.setMode(LEAST_OF_FILE | mode)
    if (times) await file.setTimes(...datesOf(times))
  }

  /** Runs an operation on an entry in a folder. @throws Refused for a folder itself */
  async function at<T>(path: Buffer, need: FolderPermission, run: (spot: Spot) => Promise<T>): Promise<T> {
    const place = placeOf(path)
    if (place.kind === 'top' || place.path === '') throw ofFolders()
    await using held = await tree.hold(place.folder, need)
    const { top } = held.folder
    const { directory: parent, name } = splitPath(place.path)
    // The top is open already.
    if (parent === '') return await run({ held, directory: top, path: '', name })
    const opened = await followingLinks(top, parent, async real => ({ real, directory: await top.walk(real) }))
    await using directory = opened.directory
    return await run({ held, directory, path: opened.real, name })
  }

  /** As `at`; for a name that is a link, the operation is run on the entry of the folder that it leads to. @param run fails with `file_kind_refused` for a link */
  function atTarget<T>(path: Buffer, need: FolderPermission, run: (spot: Spot) => Promise<T>): Promise<T> {
    return at(path, need, async spot => {
      try {
        return await run(spot)
      } catch (error) {
        if (!isCode(error, 'file_kind_refused') || (await spot.directory.lstat(spot.name)).kind !== 'link') throw error
        const real = await realPathOf(spot.held.folder.top, joinPath(spot.path, spot.name))
        if (real === '') throw error
        const target = splitPath(real)
        await using directory = await spot.held.folder.top.walk(target.directory)
        return await run({ ...spot, directory, path: target.directory, name: target.name })
      }
    })
  }

  /** Runs an operation on a directory in a folder, or on a folder itself. */
  async function within<T>(
    { folder, path }: Inside,
    need: FolderPermission,
    run: (directory: Directory, held: HeldFolder) => Promise<T>,
  ): Promise<T> {
    await using held = await tree.hold(folder, need)
    await using directory = await held.folder.top.walk(path)
    return await run(directory, held)
  }

  async function stateAt(path: Buffer, follows: boolean): Promise<Reply> {
    const place = placeOf(path)
    if (place.kind === 'top') return { kind: 'attributes', attributes: { size: 0, mode: TOP_MODE } }
    const attributes =
      place.path === ''
        ? await within(place, 'ro', async (directory, { permission }) =>
            attributesOf(await directory.state(), permission),
          )
        : await at(path, 'ro', async spot => {
            const state = await spot.directory.lstat(spot.name)
            const isFollowed = follows && state.kind === 'link'
            return attributesOf(isFollowed ? await targetState(spot) : state, spot.held.permission)
          })
    return { kind: 'attributes', attributes }
  }

  /** State of what a link leads to. @throws AppError `file_not_found`, `file_kind_refused` */
  async function targetState({ held, path, name }: Spot): Promise<FileState> {
    const { top } = held.folder
    const real = await realPathOf(top, joinPath(path, name))
    if (real === '') return await top.state()
    const target = splitPath(real)
    await using directory = await top.walk(target.directory)
    return await directory.lstat(target.name)
  }

  /** Path without links; that of the text for what is not there, or leads out of the folder. */
  async function realPath(path: Buffer): Promise<Buffer> {
    const place = placeOf(path)
    if (place.kind === 'top' || place.path === '') return absolute(path)
    try {
      await using held = await tree.hold(place.folder, 'ro')
      return inFolder(place.folder, await realPathOf(held.folder.top, place.path))
    } catch (error) {
      if (!isAppError(error)) throw error
      return absolute(path)
    }
  }

  async function open({ path, flags, attributes }: RequestOf<'open'>): Promise<Reply> {
    handles.requireRoom()
    const has = (flag: number) => (flags & flag) !== 0
    const appends = has(OPEN.append)
    const mayWrite = has(OPEN.write) || appends
    const mayRead = has(OPEN.read) || !mayWrite
    const handle = await atTarget(path, mayWrite ? 'rw' : 'ro', async (spot): Promise<FileHandle> => {
      const { held, directory, name } = spot
      const mode = LEAST_OF_FILE | modeOfFile(entryOf(spot), permissionsOf(attributes))
      let isOwn = false
      const isNew = async () => {
        await takeRoom(await tree.require(held.id, 'rw'), ONE_FILE)
        const made = await directory.create(name, mode)
        isOwn = true
        own.add(held.id, await made.state())
        changed(held, spot.path, 'made')
        return made
      }
      const isThere = async () => {
        const file = await directory.open(name, mayWrite ? 'write' : 'read')
        if (!mayWrite || !has(OPEN.truncate)) return file
        try {
          await resize(room, held.folder.row, { file, size: 0 })
          return file
        } catch (error) {
          await file[Symbol.asyncDispose]()
          throw error
        }
      }
      const found =
        !mayWrite || !has(OPEN.create) ? isThere() : has(OPEN.exclusive) ? isNew() : openOrMake(isThere, isNew)
      const file = await found
      const isWritten = mayWrite && has(OPEN.truncate)
      return {
        kind: 'file',
        file,
        folderId: held.id,
        directory: spot.path,
        mayRead,
        mayWrite,
        appends,
        isOwn,
        isWritten,
        filled: new FilledPart(),
      }
    })
    return { kind: 'handle', handle: handles.add(handle) }
  }

  function changed({ id }: Pick<HeldFolder, 'id'>, directory: string, how: 'made' | 'written' | 'renamed' | 'deleted') {
    changes.add(id, how)
    hints.changed(id, directory)
  }

  /** @throws AppError `forbidden` if this connection has not made the file, and the user may not delete */
  async function requireMayTake({ held, directory, name }: Spot): Promise<FileState> {
    const state = await directory.lstat(name)
    if (state.kind !== 'file' || !own.has(held.id, state)) await tree.require(held.id, 'delete')
    return state
  }

  const stateIfThere = ({ directory, name }: Pick<Spot, 'directory' | 'name'>): Promise<FileState | undefined> =>
    directory.lstat(name).catch((error: unknown) => {
      if (isCode(error, 'file_not_found')) return undefined
      throw error
    })

  /** Notes that an own file was changed by this connection, where the file system does not tell when it was made. @param isOwn before the change */
  async function keepOwn(
    spot: Pick<Spot, 'held' | 'directory' | 'name'>,
    before: FileState,
    isOwn: boolean,
  ): Promise<void> {
    if (!isOwn || before.bornNs !== undefined) return
    const after = await stateIfThere(spot)
    if (after?.inode === before.inode) own.add(spot.held.id, after)
  }

  async function close(name: string): Promise<Reply> {
    const open = handles.get(name)
    const state = open.kind === 'file' && open.isOwn ? await open.file.state() : undefined
    const handle = await handles.close(name)
    if (handle.kind === 'file' && state && state.links > 0) own.add(handle.folderId, state)
    tellWritten(handle)
    return OK
  }

  function tellWritten(handle: Handle): void {
    if (handle.kind === 'file' && handle.isWritten) changed({ id: handle.folderId }, handle.directory, 'written')
  }

  async function openDirectory(path: Buffer): Promise<Reply> {
    handles.requireRoom()
    const place = placeOf(path)
    if (place.kind === 'top') return { kind: 'handle', handle: handles.add({ kind: 'top', rest: await listTop() }) }
    await using stack = new AsyncDisposableStack()
    const held = stack.use(await tree.hold(place.folder, 'ro'))
    const { top } = held.folder
    const directory = stack.use(await followingLinks(top, place.path, real => top.walk(real)))
    const listing = await directory.list()
    stack.move()
    return { kind: 'handle', handle: handles.add({ kind: 'directory', held, directory, listing, rest: [] }) }
  }

  async function listTop(): Promise<NamedEntry[]> {
    return [...(await tree.list())].map(([name, row]) => {
      const modified = row.created_at.getTime() / 1000
      const mode = modeOf('directory', tree.permissionOf(row) === 'ro' ? 0o555 : 0o755)
      return { name: Buffer.from(name), attributes: { size: 0, mode, times: { accessed: modified, modified } } }
    })
  }

  async function readDirectory(name: string): Promise<Reply> {
    const handle = handles.get(name)
    if (handle.kind === 'file') throw new Refused('failure', 'The handle is that of a file.')
    if (handle.kind === 'directory') await tree.require(handle.held.id, 'ro')
    const entries = await nextEntries(handle)
    return entries.length === 0 ? END : { kind: 'names', entries }
  }

  async function setAttributes(path: Buffer, attributes: Attributes): Promise<Reply> {
    refuseOwner(attributes)
    const place = placeOf(path)
    if (place.kind === 'top') throw ofFolders()
    if (place.path === '') throw new Refused('permissionDenied', 'The attributes of a folder itself cannot be changed.')
    return await atTarget(path, 'rw', async ({ held, directory, name, path: parent }) => {
      const before = await directory.lstat(name)
      const isOwn = own.has(held.id, before)
      if (before.kind === 'directory') {
        await using entered = await directory.enter(name)
        if (attributes.mode !== undefined) await entered.setMode(LEAST_OF_DIRECTORY | attributes.mode)
        if (attributes.times) await entered.setTimes(...datesOf(attributes.times))
      } else {
        await using file = await directory.open(name, attributes.size === undefined ? 'read' : 'write')
        await apply(held.id, file, attributes)
      }
      await keepOwn({ held, directory, name }, before, isOwn)
      changed(held, parent, 'written')
      return OK
    })
  }

  async function rename({ from, to, replaces }: RequestOf<'rename'>): Promise<Reply> {
    const target = placeOf(to)
    return await at(from, 'rw', async source => {
      if (target.kind === 'top' || target.path === '') throw ofFolders()
      const before = await requireMayTake(source)
      const isOwn = own.has(source.held.id, before)
      return await at(to, 'rw', async spot => {
        if (spot.held.id !== source.held.id)
          throw new Refused('failure', 'The file would leave its folder. Copy it, and delete it here.')
        const replaced = replaces ? await stateIfThere(spot) : undefined
        if (replaces) await source.directory.rename(source.name, spot.directory, spot.name)
        else await source.directory.renameNew(source.name, spot.directory, spot.name)
        if (replaced && replaced.inode !== before.inode) own.forget(spot.held.id, replaced)
        await keepOwn(spot, before, isOwn)
        changed(source.held, source.path, 'renamed')
        if (spot.path !== source.path) hints.changed(spot.held.id, spot.path)
        return OK
      })
    })
  }

  const remove = (path: Buffer, kind: 'file' | 'directory') =>
    at(path, 'rw', async (spot): Promise<Reply> => {
      const state = await requireMayTake(spot)
      if (kind === 'directory') await spot.directory.rmdir(spot.name)
      else await spot.directory.unlink(spot.name)
      own.forget(spot.held.id, state)
      changed(spot.held, spot.path, 'deleted')
      return OK
    })

  async function figures(path: Buffer): Promise<Reply> {
    const place = placeOf(path)
    return {
      kind: 'figures',
      figures: place.kind === 'top' ? await figuresOfTop(tree) : await figuresOf(tree, place.folder),
    }
  }

  async function answer(request: PlainRequest): Promise<Reply> {
    switch (request.kind) {
      case 'open':
        return open(request)
      case 'close':
        return close(request.handle)
      case 'lstat':
      case 'stat':
        return stateAt(request.path, request.kind === 'stat')
      case 'fstat': {
        const handle = handles.file(request.handle)
        await tree.require(handle.folderId, 'ro')
        return {
          kind: 'attributes',
          attributes: attributesOf(await handle.file.state(), handle.mayWrite ? 'rw' : 'ro'),
        }
      }
      case 'setstat':
        return setAttributes(request.path, request.attributes)
      case 'fsetstat': {
        const { folderId, file } = handles.file(request.handle)
        refuseOwner(request.attributes)
        await apply(folderId, file, request.attributes)
        return OK
      }
      case 'opendir':
        return openDirectory(request.path)
      case 'readdir':
        return readDirectory(request.handle)
      case 'remove':
        return remove(request.path, 'file')
      case 'rmdir':
        return remove(request.path, 'directory')
      case 'mkdir':
        return at(request.path, 'rw', async spot => {
          const { held, directory, name, path } = spot
          await takeRoom(await tree.require(held.id, 'rw'), ONE_FILE)
          await directory.mkdir(
            name,
            LEAST_OF_DIRECTORY | modeOfDirectory(entryOf(spot), permissionsOf(request.attributes)),
          )
          changed(held, path, 'made')
          return OK
        })
      case 'realpath':
        return { kind: 'names', entries: [{ name: await realPath(request.path), attributes: {} }] }
      case 'readlink':
        return at(request.path, 'ro', async ({ directory, name }) => ({
          kind: 'names',
          entries: [{ name: await directory.readlink(name), attributes: {} }],
        }))
      case 'rename':
        return rename(request)
      case 'fsync': {
        const { folderId, file } = handles.file(request.handle)
        await tree.require(folderId, 'ro')
        await file.sync()
        return OK
      }
      case 'statvfs':
        return figures(request.path)
    }
  }

  return {
    changes,
    answer,
    async read(name, position, into) {
      const { file, folderId, mayRead } = handles.file(name)
      if (!mayRead) throw new Refused('permissionDenied', 'The file was not opened for reading.')
      await tree.require(folderId, 'ro')
      const [only, second] = into
      return only && !second ? await file.read(only, position) : await file.readParts(into, position)
    },
    async write(name, position, parts) {
      const handle = handles.file(name)
      if (!handle.mayWrite) throw new Refused('permissionDenied', 'The file was not opened for writing.')
      const row = await tree.require(handle.folderId, 'rw')
      const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
      const { file, filled, appends } = handle
      const isNew = appends || !isLimited(row)
      await takeRoom(row, amount(isNew ? bytes : await filled.newBytes(file, position, bytes), 0))
      handle.isWritten = true
      // Looked up last: other programs append meanwhile.
      const start = appends ? (await file.state()).size : position
      await file.writeParts(parts, start)
      filled.written(start, bytes)
    },
    async [Symbol.asyncDispose]() {
      // The client has gone without closing these.
      for (const handle of handles) tellWritten(handle)
      await handles[Symbol.asyncDispose]()
      for (const { meter } of meters.values()) await meter[Symbol.asyncDispose]()
      await tree[Symbol.asyncDispose]()
    },
  }
}

const ofFolders = () =>
  new Refused(
    'permissionDenied',
    'Folders are made, renamed and deleted on the page Data & Storage, or by `berth folder`.',
  )

/** Opens a file, or makes it; another program may make or delete it at the same time. */
async function openOrMake(open: () => Promise<OpenFile>, make: () => Promise<OpenFile>): Promise<OpenFile> {
  try {
    return await open()
  } catch (error) {
    if (!isCode(error, 'file_not_found')) throw error
  }
  try {
    return await make()
  } catch (error) {
    if (!isCode(error, 'file_exists')) throw error
    return await open()
  }
}

const entryOf = ({ held, path, name }: Spot) => ({ folder: held.folder.row.name, path: joinPath(path, name) })

const permissionsOf = ({ mode }: Attributes) => (mode === undefined ? undefined : mode & PERMISSIONS)

/** @throws Refused */
function refuseOwner({ owner }: Attributes): void {
  if (owner) throw new Refused('permissionDenied', 'All files belong to the user of sessions.')
}

const datesOf = ({ accessed, modified }: NonNullable<Attributes['times']>): [Date, Date] => [
  new Date(accessed * 1000),
  new Date(modified * 1000),
]
