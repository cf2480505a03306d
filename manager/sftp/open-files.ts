import { isCode } from '../files/places.ts'
import { amount, isLimited } from '../folders/size-rules.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { attributesOf } from './attributes.ts'
import { type NoteChange } from './changes-made.ts'
import { type ConnectionQuotas } from './connection-quotas.ts'
import { FilledPart } from './filled-part.ts'
import { type Handle, type Handles } from './handles.ts'
import { type OpenMode, openModeOf } from './open-mode.ts'
import { type OwnFiles } from './own-files.ts'
import { partsAfter } from './parts-after.ts'
import { placeOf, splitPath } from './place.ts'
import { type Attributes, type RequestOf } from './protocol.ts'
import { Refused } from './refused.ts'
import { newFileMode, refuseOwner, setOnFile } from './set-attributes.ts'
import { type Spots } from './spots.ts'
import { type Tree } from './tree.ts'

export interface OpenFilesDeps {
  readonly handles: Handles
  readonly tree: Pick<Tree, 'require' | 'hold'>
  readonly spots: Pick<Spots, 'atTarget'>
  readonly quotas: Pick<ConnectionQuotas, 'take' | 'resize'>
  readonly own: OwnFiles
  readonly noteChange: NoteChange
}

/** The files that a client has open, by handle. All methods throw AppError and Refused. */
export interface OpenFiles {
  /** @returns the handle */
  open(request: RequestOf<'open'>): Promise<string>
  /** Closes a handle, including that of a directory. */
  close(name: string): Promise<void>
  attributes(name: string): Promise<Attributes>
  setAttributes(name: string, attributes: Attributes): Promise<void>
  sync(name: string): Promise<void>
  /** As `Operations.read`. */
  read(name: string, position: number, into: readonly Uint8Array[]): Promise<number>
  /** As `Operations.write`. */
  write(name: string, position: number, parts: readonly Uint8Array[]): Promise<void>
  /** Records the writes to files that the client has left open. */
  noteUnclosed(): void
}

export function createOpenFiles({ handles, tree, spots, quotas, own, noteChange }: OpenFilesDeps): OpenFiles {
  function noteWritten(handle: Handle): void {
    if (handle.kind === 'file' && handle.isWritten) noteChange(handle.folderId, handle.directory, 'written')
  }

  /** Opens a file by one job. @returns undefined for a path that must be taken step by step */
  async function openAtOnce(path: Buffer, { mayWrite, makes }: OpenMode, asked: Attributes) {
    const place = placeOf(path)
    if (place.kind === 'top' || place.path === '') return undefined
    await using held = await tree.hold(place.folder, mayWrite ? 'rw' : 'ro')
    const { top, row } = held.folder
    const { directory, name } = splitPath(place.path)
    const access = mayWrite ? 'write' : 'read'
    const find = () => top.openAt(place.path, { access })
    const create = async () => {
      await quotas.take(row, amount(0, 1))
      const mode = newFileMode({ held, path: directory, name }, asked)
      return await top.openAt(place.path, { access, make: { mode, isOnly: makes === 'new' } })
    }
    // A file that is there takes nothing of a limit.
    const findOrCreate = () =>
      unlessMissing(makes === 'new' ? top.stateAt(place.path).then(() => undefined) : find(), create)
    const opened = await (makes === 'never' ? find() : isLimited(row) ? findOrCreate() : create())
    return opened && { ...opened, held, directory }
  }

  /** Opens a file step by step. */
  const openInSteps = (path: Buffer, { mayWrite, makes }: OpenMode, asked: Attributes) =>
    spots.atTarget(path, mayWrite ? 'rw' : 'ro', async spot => {
      const { held, directory, name } = spot
      const create = async () => {
        await quotas.take(await tree.require(held.id, 'rw'), amount(0, 1))
        return described(await directory.create(name, newFileMode(spot, asked)), true)
      }
      const find = async () => described(await directory.open(name, mayWrite ? 'write' : 'read'), false)
      const opened = await { never: find, new: create, missing: () => openOrMake(find, create) }[makes]()
      return { ...opened, held, directory: spot.path }
    })

  return {
    async open({ path, flags, attributes }) {
      handles.requireFreeHandle()
      const how = openModeOf(flags)
      const { mayRead, mayWrite, appends, truncates } = how
      const opened = (await openAtOnce(path, how, attributes)) ?? (await openInSteps(path, how, attributes))
      const { file, state, isNew, held, directory } = opened
      const filled = new FilledPart()
      if (isNew) {
        filled.isEmpty()
        own.add(held.id, state)
        noteChange(held.id, directory, 'made')
      } else if (truncates && state.size > 0) {
        try {
          await quotas.resize(held.folder.row, file, 0)
        } catch (error) {
          await file[Symbol.asyncDispose]()
          throw error
        }
      }
      return handles.add({
        kind: 'file',
        file,
        folderId: held.id,
        directory,
        mayRead,
        mayWrite,
        appends,
        isOwn: isNew && state.bornNs === undefined,
        size: state.size,
        isWritten: truncates,
        filled,
      })
    },

    async close(name) {
      const open = handles.get(name)
      const state = open.kind === 'file' && open.isOwn ? await open.file.state() : undefined
      const handle = await handles.close(name)
      if (handle.kind === 'file' && state && state.links > 0) own.add(handle.folderId, state)
      noteWritten(handle)
    },

    async attributes(name) {
      const { folderId, file, mayWrite } = handles.file(name)
      await tree.require(folderId, 'ro')
      return attributesOf(await file.state(), mayWrite ? 'rw' : 'ro')
    },

    async setAttributes(name, attributes) {
      const { folderId, file } = handles.file(name)
      refuseOwner(attributes)
      await setOnFile(file, attributes, { row: await tree.require(folderId, 'rw'), quotas })
    },

    async sync(name) {
      const { folderId, file } = handles.file(name)
      await tree.require(folderId, 'ro')
      await file.sync()
    },

    async read(name, position, into) {
      const { file, folderId, mayRead, size } = handles.file(name)
      if (!mayRead) throw new Refused('permissionDenied', 'The file was not opened for reading.')
      await tree.require(folderId, 'ro')
      let got = 0
      for (let parts = into; parts.length > 0; parts = partsAfter(into, got)) {
        const [only, second] = parts
        const count = await (only && !second ? file.read(only, position + got) : file.readParts(parts, position + got))
        got += count
        // A storage may return fewer bytes before the end of a file. At the size that it had when it was opened, that is unlikely.
        if (count === 0 || position + got === size) break
      }
      return got
    },

    async write(name, position, parts) {
      const handle = handles.file(name)
      if (!handle.mayWrite) throw new Refused('permissionDenied', 'The file was not opened for writing.')
      const row = await tree.require(handle.folderId, 'rw')
      const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
      const { file, filled, appends } = handle
      const isNew = appends || !isLimited(row)
      await quotas.take(row, amount(isNew ? bytes : await filled.newBytes(file, position, bytes), 0))
      handle.isWritten = true
      // Read the size last, because other programs may append meanwhile.
      const start = appends ? (await file.state()).size : position
      await file.writeParts(parts, start)
      filled.written(start, bytes)
    },

    noteUnclosed() {
      for (const handle of handles) noteWritten(handle)
    },
  }
}

/** A file with its state. Closes it if the state cannot be read. */
async function described(file: OpenFile, isNew: boolean) {
  try {
    return { file, isNew, state: await file.state() }
  } catch (error) {
    await file[Symbol.asyncDispose]()
    throw error
  }
}

/** Opens or creates a file; another program may create or delete it at the same time. */
async function openOrMake<T>(open: () => Promise<T>, make: () => Promise<T>): Promise<T> {
  try {
    return await unlessMissing(open(), make)
  } catch (error) {
    if (!isCode(error, 'file_exists')) throw error
    return await open()
  }
}

async function unlessMissing<T>(found: Promise<T>, make: () => Promise<T>): Promise<T> {
  try {
    return await found
  } catch (error) {
    if (!isCode(error, 'file_not_found')) throw error
  }
  return await make()
}
