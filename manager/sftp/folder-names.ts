import { type FolderRow } from '../store/storage/folders.ts'

type Named = Pick<FolderRow, 'id' | 'name' | 'user_id' | 'owner_email' | 'group_name'>

/**
 * Names of folders in the top directory of a user. The user's own folders have their plain names. A folder of a project or of another user
 * has its plain name too if no other folder has it, and else `NAME@PROJECT` or `NAME@OWNER`. That form always works, so a saved path stays
 * valid when another folder of the same name appears.
 */
export interface FolderNames<T> {
  /** The names to list. */
  readonly listed: ReadonlyMap<string, T>
  /** The folder of a name, listed or not. */
  find(name: string): T | undefined
}

export function nameFolders<T extends Named>(folders: readonly T[], userId: string): FolderNames<T> {
  const own = folders.filter(folder => folder.user_id === userId)
  const others = folders.filter(folder => folder.user_id !== userId)
  const count = (name: string) => folders.filter(folder => folder.name === name).length
  const listed = new Map(own.map(folder => [folder.name, folder]))
  const qualified = new Map<string, T>()
  for (const folder of others) {
    const plain = `${folder.name}@${ownerOf(folder)}`
    const isFree = !qualified.has(plain) && Buffer.byteLength(plain) <= LONGEST_NAME
    const long = isFree ? plain : `${folder.name}@${folder.id}`
    qualified.set(long, folder)
    listed.set(count(folder.name) === 1 ? folder.name : long, folder)
  }
  return { listed, find: name => listed.get(name) ?? qualified.get(name) }
}

/** Limit of file systems for a name, in bytes. */
const LONGEST_NAME = 255

const ownerOf = ({ owner_email, group_name }: Named) => (group_name ?? owner_email ?? '').replace(/[/\0]/g, '_')
