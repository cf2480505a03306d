import { joinPath } from '../files/places.ts'
import { type Directory } from '../storage/beneath.ts'
import { type OpenFile, PERMISSIONS } from '../storage/open-file.ts'
import { modeOfDirectory, modeOfFile } from '../storage/private-files.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { type ConnectionQuotas } from './connection-quotas.ts'
import { type Attributes } from './protocol.ts'
import { Refused } from './refused.ts'
import { type Spot } from './spots.ts'

/**
 * Permissions of the owner that a client cannot remove. A manager that is not root reads files as their owner, e.g. to copy and download
 * them.
 */
const LEAST_OF_FILE = 0o400
/** The same for directories; Berth creates and removes entries too, e.g. when it empties the trash. */
const LEAST_OF_DIRECTORY = 0o700

/** Where a client creates an entry. */
type NewSpot = Pick<Spot, 'held' | 'path' | 'name'>

/** Permission bits of a file that a client creates at a spot. */
export const newFileMode = (spot: NewSpot, asked: Attributes): number =>
  LEAST_OF_FILE | modeOfFile(entryOf(spot), permissionsOf(asked))

/** Like `newFileMode`, for a directory. */
export const newDirectoryMode = (spot: NewSpot, asked: Attributes): number =>
  LEAST_OF_DIRECTORY | modeOfDirectory(entryOf(spot), permissionsOf(asked))

const entryOf = ({ held, path, name }: NewSpot) => ({ folder: held.folder.row.name, path: joinPath(path, name) })

const permissionsOf = ({ mode }: Attributes) => (mode === undefined ? undefined : mode & PERMISSIONS)

/** @throws Refused */
export function refuseOwner({ owner }: Attributes): void {
  if (owner) throw new Refused('permissionDenied', 'All files belong to the user of sessions.')
}

/** Changes the attributes of a file. @param row of its folder @throws as `ConnectionQuotas.resize` */
export async function setOnFile(
  file: OpenFile,
  { size, mode, times }: Attributes,
  { row, quotas }: { readonly row: FolderRow; readonly quotas: Pick<ConnectionQuotas, 'resize'> },
): Promise<void> {
  if (size !== undefined) await quotas.resize(row, file, size)
  if (mode !== undefined) await file.setMode(LEAST_OF_FILE | mode)
  if (times) await file.setTimes(...datesOf(times))
}

export async function setOnDirectory(directory: Directory, { mode, times }: Attributes): Promise<void> {
  if (mode !== undefined) await directory.setMode(LEAST_OF_DIRECTORY | mode)
  if (times) await directory.setTimes(...datesOf(times))
}

const datesOf = ({ accessed, modified }: NonNullable<Attributes['times']>): [Date, Date] => [
  new Date(accessed * 1000),
  new Date(modified * 1000),
]
