import { type Folder } from '#manager/contract'
import { folderNameFault } from '../../data/folders/folder-name.ts'

/** Longest name that leaves space for the ending of a copy. */
const LONGEST = 54

/**
 * A name for the copy of a folder that its new owner has not used: `data` → `data-copy`, `data-copy-2`. A leading dot is removed: otherwise
 * a copy of `.local` would be mounted in each session.
 */
export function freeName(
  name: string,
  owner: Pick<Folder, 'ownerId' | 'group'>,
  others: readonly Pick<Folder, 'name' | 'ownerId' | 'group'>[],
): string {
  const base = `${name.replace(/^\.+/, '').slice(0, LONGEST)}-copy`
  for (let number = 1; ; number++) {
    const tried = number === 1 ? base : `${base}-${number}`
    if (folderNameFault(tried, owner, others) === '' || number > others.length + 1) return tried
  }
}
