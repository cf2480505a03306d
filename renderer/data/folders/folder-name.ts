import { isLikeId } from '#base/shapes'
import { FOLDER_NAME, RESERVED_FOLDER_NAME, type Folder } from '#manager/contract'
import { t } from '../../words/en/folders.ts'

const LONGEST = 63

/** The owner of a folder; folders of one owner have different names in any letter case. */
type Owned = Pick<Folder, 'ownerId' | 'group'>

/** Whether sessions of its owner mount a folder of this name automatically. */
export const isDotName = (name: string) => name.startsWith('.')

/** The first mistake in the name of a folder; empty if there is none. */
export function folderNameFault(name: string, owner: Owned, others: readonly (Owned & Pick<Folder, 'name'>)[]): string {
  if (name === '') return t('faultEmpty')
  if (/\s/.test(name)) return t('faultSpace')
  const strange = /[^A-Za-z0-9._-]/u.exec(name)?.[0]
  if (strange) return t('faultStrange', { sign: strange })
  if (!/^\.?[A-Za-z0-9]/.test(name)) return t('faultStart')
  if (!FOLDER_NAME.test(name)) return t('faultLong', { most: LONGEST })
  if (RESERVED_FOLDER_NAME.test(name)) return t('faultReserved')
  if (isLikeId(name)) return t('faultLikeId')
  if (owner.group && isDotName(name)) return t('faultProjectDot')
  const same = others.find(other => isSameOwner(owner, other) && other.name.toLowerCase() === name.toLowerCase())
  return same ? t('faultTaken', { name: same.name }) : ''
}

const isSameOwner = (a: Owned, b: Owned) => a.ownerId === b.ownerId && a.group?.id === b.group?.id
