import { type Readable } from 'node:stream'
import { pathThere } from '../files/names-there.ts'
import { type Store } from '../store/open-store.ts'
import { listReplacing } from '../store/storage/folder-usage.ts'
import { MOVING_MINUTES, saveMoved, type UploadRow } from '../store/storage/uploads.ts'
import { type Caller } from '../users/authorize.ts'
import { type UploadsDeps } from './deps.ts'
import { freedBytes } from './freed-bytes.ts'
import { type OpenPart } from './open-part.ts'
import { replacedBytes, type WritableFolder } from './writable-folder.ts'
import { hasBytes } from './write-part.ts'

/** @throws as `WritableFolder.requireStaged` */
export function requireStaged(
  { db }: Store,
  folder: WritableFolder,
  { id, folder_id, path, size }: UploadRow,
  replaced: number,
): Promise<void> {
  const freed = async (countedAt: Date) => {
    await using top = await folder.open()
    return await freedBytes(top, await listReplacing(db, folder_id, id), { own: path, countedAt })
  }
  return folder.requireStaged({ bytes: size, replaced, freed })
}

type Deps = Pick<UploadsDeps, 'store' | 'parts' | 'openFolder'>

/** Waits for the first byte; an upload that was silent before must then reserve its space again. @throws as `moveAgain`, `hasBytes` */
export async function requireHeld(deps: Deps, caller: Caller, part: OpenPart, body: Readable): Promise<void> {
  const isSilent = () => deps.store.now() - part.row.moved_at.getTime() > MOVING_MINUTES * 60_000
  try {
    // Wait first: meanwhile space may become free, or another upload may use it.
    if ((await hasBytes(body, part.lease.signal)) && isSilent()) await moveAgain(deps, caller, part)
  } catch (error) {
    // Node discards only bodies that were never read: otherwise the next request of the connection would wait behind this one.
    body.on('error', () => undefined).resume()
    throw error
  }
}

/**
 * Reserves the whole size again for an upload that continues after a long time, as for a new one: other uploads may have used its space.
 * @throws as `Uploads.create`
 */
async function moveAgain({ store, parts, openFolder }: Deps, caller: Caller, { row, offset }: OpenPart): Promise<void> {
  const folder = await openFolder(caller, row.folder_id)
  await parts.requireSpace(folder.storageHost, row.size - offset)
  await using top = await folder.open()
  const path = await pathThere(top, row.path)
  const replaced = await replacedBytes(folder, top, { path, onConflict: row.on_conflict })
  // Record it first, so that two uploads that continue at once cannot both use the last space.
  await saveMoved(store.db, row.id, 'now')
  await requireStaged(store, folder, row, replaced).catch(async (error: unknown) => {
    await saveMoved(store.db, row.id, row.moved_at)
    throw error
  })
}
