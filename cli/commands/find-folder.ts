import { isLikeId } from '#base/shapes'
import { type ApiClient, AppError, type Folder } from '#manager/contract'
import { table } from '../output.ts'
import { bytes } from './text.ts'

/** @param reference id, name, `PROJECT/NAME` or `OWNER/NAME`   @throws AppError `folder_not_found` */
export async function findFolder(api: ApiClient, reference: string): Promise<Folder> {
  return pick((await api.listFolders()).items, reference, `You have no folder "${reference}".`)
}

/** A folder in the trash. A folder outside of it that has the same name is never meant. @throws AppError `folder_not_found` */
export async function findTrashed(api: ApiClient, reference: string): Promise<Folder> {
  const { items } = await api.listFolders({ query: { trashed: 'true' } })
  return pick(items, reference, `There is no folder "${reference}" in the trash. \`berth folder rm\` moves one there.`)
}

function pick(folders: readonly Folder[], reference: string, noSuch: string): Folder {
  const wanted = reference.toLowerCase()
  const found = folders.filter(folder => {
    if (isLikeId(wanted)) return folder.id === wanted
    const name = folder.name.toLowerCase()
    return name === wanted || `${placeOf(folder).toLowerCase()}/${name}` === wanted
  })
  const own = found.filter(isOwn)
  const [folder, ...others] = own.length > 0 ? own : found
  if (folder && others.length === 0) return folder
  const choices = found.map(one => `"${placeOf(one)}/${one.name}"`).join(', ')
  const why = folder
    ? `Several folders are named "${reference}": ${choices}. Use one of these names, or an id.`
    : noSuch
  throw new AppError('folder_not_found', { name: reference, why })
}

/** Whether the folder counts as the caller's own: it belongs to a user, and the caller manages it. */
const isOwn = ({ group, manageable }: Folder): boolean => group === null && manageable

/** Project of a folder, or address of its owner. */
const placeOf = ({ group, owner }: Folder): string => group?.name ?? owner?.email ?? ''

export const PERMISSION_TEXT = { ro: 'read only', rw: 'read and write', delete: 'read, write and delete' } as const

/**
 * Text of the used amount and its limit. A program in a session may exceed a limit that the file system does not enforce, and hide files from the
 * count.
 *
 * @param used null: not counted yet
 */
function ofLimit<T extends { readonly enforced: boolean }>(
  used: string | null,
  limit: T | null,
  text: (limit: T) => string,
): string {
  if (limit === null) return used ?? ''
  const most = `${text(limit)}${limit.enforced ? '' : ' (not enforced)'}`
  return used === null ? `at most ${most}` : `${used} of ${most}`
}

export const folderTable = (folders: readonly Folder[]): string =>
  table(
    ['NAME', 'OF', 'FOR', 'PERMISSION', 'SIZE', 'FILES', 'STORAGE', 'ID'],
    folders.map(folder => [
      folder.name,
      isOwn(folder) ? 'you' : `${folder.group === null ? '' : 'project '}${placeOf(folder)}`,
      folder.usageMode,
      PERMISSION_TEXT[folder.permission],
      ofLimit(folder.usage && bytes(folder.usage.bytes), folder.limit, ({ bytes: most }) => bytes(most)),
      ofLimit(folder.usage && String(folder.usage.files), folder.fileLimit, ({ files }) => String(files)),
      folder.storageHost,
      folder.id,
    ]),
  )
