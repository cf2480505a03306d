import { type FileHints } from '../files/hints.ts'
import { isCode } from '../files/places.ts'
import { amount } from '../folders/size-rules.ts'
import { type FileState } from '../storage/file-state.ts'
import { type NoteChange } from './changes-made.ts'
import { type ConnectionQuotas } from './connection-quotas.ts'
import { type OwnFiles } from './own-files.ts'
import { type Place, placeOf, splitPath } from './place.ts'
import { type Attributes, type RequestOf } from './protocol.ts'
import { Refused } from './refused.ts'
import { newDirectoryMode, refuseOwner, setOnDirectory, setOnFile } from './set-attributes.ts'
import { ofFolders, type Spot, type Spots } from './spots.ts'
import { type Tree } from './tree.ts'

export interface EntryChangesDeps {
  readonly tree: Pick<Tree, 'require' | 'hold'>
  readonly spots: Spots
  readonly quotas: Pick<ConnectionQuotas, 'take' | 'resize'>
  readonly own: OwnFiles
  readonly hints: Pick<FileHints, 'changed'>
  readonly noteChange: NoteChange
}

/** Changes of entries by their paths. All throw AppError and Refused. */
export interface EntryChanges {
  setAttributes(path: Buffer, attributes: Attributes): Promise<void>
  makeDirectory(path: Buffer, attributes: Attributes): Promise<void>
  rename(request: RequestOf<'rename'>): Promise<void>
  remove(path: Buffer, kind: 'file' | 'directory'): Promise<void>
}

type PlaceInside = Extract<Place, { readonly kind: 'inside' }>

export function createEntryChanges({ tree, spots, quotas, own, hints, noteChange }: EntryChangesDeps): EntryChanges {
  /** @throws AppError `forbidden` if this connection has not created the file, and the user may not delete */
  async function requireMayTake({ held, directory, name }: Spot): Promise<FileState> {
    const state = await directory.lstat(name)
    if (state.kind !== 'file' || !own.has(held.id, state)) await tree.require(held.id, 'delete')
    return state
  }

  /**
   * Records that this connection has changed its own file, if the file system does not store creation times. @param isOwn before the change
   */
  async function keepOwn(spot: Spot, before: FileState, isOwn: boolean): Promise<void> {
    if (!isOwn || before.bornNs !== undefined) return
    const after = await stateIfThere(spot)
    if (after?.inode === before.inode) own.add(spot.held.id, after)
  }

  /** Changes a file by one job for its path. @returns false for a path that must be taken step by step */
  async function setAtOnce({ folder, path }: PlaceInside, attributes: Attributes): Promise<boolean> {
    await using held = await tree.hold(folder, 'rw')
    const access = attributes.size === undefined ? 'read' : 'write'
    const opened = await held.folder.top.openAt(path, { access })
    if (!opened) return false
    const { state } = opened
    await using file = opened.file
    await setOnFile(file, attributes, { row: held.folder.row, quotas })
    if (state.bornNs === undefined && own.has(held.id, state)) own.add(held.id, await file.state())
    noteChange(held.id, splitPath(path).directory, 'written')
    return true
  }

  return {
    async setAttributes(path, attributes) {
      refuseOwner(attributes)
      const place = placeOf(path)
      if (place.kind === 'top') throw ofFolders()
      if (place.path === '')
        throw new Refused('permissionDenied', 'The attributes of a folder itself cannot be changed.')
      if (await setAtOnce(place, attributes)) return
      await spots.atTarget(path, 'rw', async spot => {
        const { held, directory, name } = spot
        const before = await directory.lstat(name)
        const isOwn = own.has(held.id, before)
        if (before.kind === 'directory') {
          await using entered = await directory.enter(name)
          await setOnDirectory(entered, attributes)
        } else {
          await using file = await directory.open(name, attributes.size === undefined ? 'read' : 'write')
          await setOnFile(file, attributes, { row: await tree.require(held.id, 'rw'), quotas })
        }
        await keepOwn(spot, before, isOwn)
        noteChange(held.id, spot.path, 'written')
      })
    },

    makeDirectory: (path, attributes) =>
      spots.at(path, 'rw', async spot => {
        const { held, directory, name } = spot
        await quotas.take(await tree.require(held.id, 'rw'), amount(0, 1))
        await directory.mkdir(name, newDirectoryMode(spot, attributes))
        noteChange(held.id, spot.path, 'made')
      }),

    async rename({ from, to, replaces }) {
      const target = placeOf(to)
      await spots.at(from, 'rw', async source => {
        if (target.kind === 'top' || target.path === '') throw ofFolders()
        const before = await requireMayTake(source)
        const isOwn = own.has(source.held.id, before)
        await spots.at(to, 'rw', async spot => {
          if (spot.held.id !== source.held.id)
            throw new Refused('failure', 'The file would leave its folder. Copy it, and delete it here.')
          const replaced = replaces ? await stateIfThere(spot) : undefined
          if (replaces) await source.directory.rename(source.name, spot.directory, spot.name)
          else await source.directory.renameNew(source.name, spot.directory, spot.name)
          if (replaced && replaced.inode !== before.inode) own.forget(spot.held.id, replaced)
          await keepOwn(spot, before, isOwn)
          noteChange(source.held.id, source.path, 'renamed')
          if (spot.path !== source.path) hints.changed(spot.held.id, spot.path)
        })
      })
    },

    remove: (path, kind) =>
      spots.at(path, 'rw', async spot => {
        const state = await requireMayTake(spot)
        if (kind === 'directory') await spot.directory.rmdir(spot.name)
        else await spot.directory.unlink(spot.name)
        own.forget(spot.held.id, state)
        noteChange(spot.held.id, spot.path, 'deleted')
      }),
  }
}

const stateIfThere = ({ directory, name }: Spot): Promise<FileState | undefined> =>
  directory.lstat(name).catch((error: unknown) => {
    if (isCode(error, 'file_not_found')) return undefined
    throw error
  })
