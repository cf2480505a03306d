import { isCode } from '../files/places.ts'
import { amount, isLimited } from '../folders/size-rules.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { attributesOf } from './attributes.ts'
import { type NoteChange } from './changes-made.ts'
import { type ConnectionQuotas } from './connection-quotas.ts'
import { FilledPart } from './filled-part.ts'
import { type Handle, type Handles } from './handles.ts'
import { openModeOf } from './open-mode.ts'
import { type OwnFiles } from './own-files.ts'
import { type Attributes, type RequestOf } from './protocol.ts'
import { Refused } from './refused.ts'
import { newFileMode, refuseOwner, setOnFile } from './set-attributes.ts'
import { type Spots } from './spots.ts'
import { type Tree } from './tree.ts'

export interface OpenFilesDeps {
  readonly handles: Handles
  readonly tree: Pick<Tree, 'require'>
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

  return {
    async open({ path, flags, attributes }) {
      handles.requireFreeHandle()
      const { mayRead, mayWrite, appends, truncates, makes } = openModeOf(flags)
      return await spots.atTarget(path, mayWrite ? 'rw' : 'ro', async spot => {
        const { held, directory, name } = spot
        const mode = newFileMode(spot, attributes)
        let isOwn = false
        const isNew = async () => {
          await quotas.take(await tree.require(held.id, 'rw'), amount(0, 1))
          const made = await directory.create(name, mode)
          isOwn = true
          own.add(held.id, await made.state())
          noteChange(held.id, spot.path, 'made')
          return made
        }
        const isThere = async () => {
          const file = await directory.open(name, mayWrite ? 'write' : 'read')
          if (!truncates) return file
          try {
            await quotas.resize(held.folder.row, file, 0)
            return file
          } catch (error) {
            await file[Symbol.asyncDispose]()
            throw error
          }
        }
        const file = await { never: isThere, new: isNew, missing: () => openOrMake(isThere, isNew) }[makes]()
        return handles.add({
          kind: 'file',
          file,
          folderId: held.id,
          directory: spot.path,
          mayRead,
          mayWrite,
          appends,
          isOwn,
          isWritten: truncates,
          filled: new FilledPart(),
        })
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

/** Opens or creates a file; another program may create or delete it at the same time. */
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
