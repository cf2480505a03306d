import { type FolderPermission } from '#manager/contract'
import { isCode, joinPath } from '../files/places.ts'
import { type Directory } from '../storage/beneath.ts'
import { followingLinks, realPathOf } from '../storage/real-path.ts'
import { placeOf, splitPath } from './place.ts'
import { Refused } from './refused.ts'
import { type HeldFolder, type Tree } from './tree.ts'

/** An entry, in a directory that is open for one operation. The entry itself may be missing. */
export interface Spot {
  readonly held: HeldFolder
  readonly directory: Directory
  /** Path of the directory in the folder, without links. */
  readonly path: string
  readonly name: string
}

/**
 * Finds the entries that paths of a client name.
 *
 * Links are followed as by OpenSSH's server, as long as they stay in the folder (`storage/real-path.ts`): always inside a path, and at its
 * end by `open`, `stat`, `setstat`, `opendir` and `realpath`.
 */
export interface Spots {
  /** Runs an operation on an entry in a folder. @throws Refused for a folder itself */
  at<T>(path: Buffer, need: FolderPermission, run: (spot: Spot) => Promise<T>): Promise<T>
  /**
   * Like `at`; if the name is a link, the operation runs on its target in the folder. @param run fails with `file_kind_refused` for a link
   */
  atTarget<T>(path: Buffer, need: FolderPermission, run: (spot: Spot) => Promise<T>): Promise<T>
}

export function createSpots(tree: Pick<Tree, 'hold'>): Spots {
  const at: Spots['at'] = async (path, need, run) => {
    const place = placeOf(path)
    if (place.kind === 'top' || place.path === '') throw ofFolders()
    await using held = await tree.hold(place.folder, need)
    const { top } = held.folder
    const { directory: parent, name } = splitPath(place.path)
    // The top is already open.
    if (parent === '') return await run({ held, directory: top, path: '', name })
    const opened = await followingLinks(top, parent, async real => ({ real, directory: await top.walk(real) }))
    await using directory = opened.directory
    return await run({ held, directory, path: opened.real, name })
  }
  return {
    at,
    atTarget: (path, need, run) =>
      at(path, need, async spot => {
        try {
          return await run(spot)
        } catch (error) {
          if (!isCode(error, 'file_kind_refused') || (await spot.directory.lstat(spot.name)).kind !== 'link')
            throw error
          const real = await realPathOf(spot.held.folder.top, joinPath(spot.path, spot.name))
          if (real === '') throw error
          const target = splitPath(real)
          await using directory = await spot.held.folder.top.walk(target.directory)
          return await run({ ...spot, directory, path: target.directory, name: target.name })
        }
      }),
  }
}

export const ofFolders = () =>
  new Refused(
    'permissionDenied',
    'Folders are made, renamed and deleted on the page Data & Storage, or by `berth folder`.',
  )
