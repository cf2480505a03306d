import { isAppError } from '#manager/contract'
import { joinPath } from '../files/places.ts'
import { type FileState } from '../storage/file-state.ts'
import { realPathOf } from '../storage/real-path.ts'
import { attributesOf, modeOf } from './attributes.ts'
import { absolute, inFolder, placeOf, splitPath } from './place.ts'
import { type Attributes } from './protocol.ts'
import { type Spot, type Spots } from './spots.ts'
import { type Tree } from './tree.ts'

const TOP_MODE = modeOf('directory', 0o555)

/** Attributes of a path. @param follows if the path ends with a link, whether to return those of the target */
export async function attributesAt(
  { tree, spots }: { readonly tree: Pick<Tree, 'hold'>; readonly spots: Spots },
  path: Buffer,
  follows: boolean,
): Promise<Attributes> {
  const place = placeOf(path)
  if (place.kind === 'top') return { size: 0, mode: TOP_MODE }
  if (place.path === '') {
    await using held = await tree.hold(place.folder, 'ro')
    return attributesOf(await held.folder.top.state(), held.permission)
  }
  {
    await using held = await tree.hold(place.folder, 'ro')
    const state = await held.folder.top.stateAt(place.path)
    if (state && !(follows && state.kind === 'link')) return attributesOf(state, held.permission)
  }
  return await spots.at(path, 'ro', async spot => {
    const state = await spot.directory.lstat(spot.name)
    const isFollowed = follows && state.kind === 'link'
    return attributesOf(isFollowed ? await targetState(spot) : state, spot.held.permission)
  })
}

/** State of a link's target. @throws AppError `file_not_found`, `file_kind_refused` */
async function targetState({ held, path, name }: Spot): Promise<FileState> {
  const { top } = held.folder
  const real = await realPathOf(top, joinPath(path, name))
  if (real === '') return await top.state()
  const target = splitPath(real)
  await using directory = await top.walk(target.directory)
  return await directory.lstat(target.name)
}

/** Path without links; resolved as text if it does not exist, or leads out of the folder. */
export async function realPathAt(tree: Pick<Tree, 'hold'>, path: Buffer): Promise<Buffer> {
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
