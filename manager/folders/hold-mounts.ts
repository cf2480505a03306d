import { AppError, because, type SessionId } from '#manager/contract'
import { insertSessionFolders, type NewSessionFolder } from '../store/sessions/session-folders.ts'
import { type Db } from '../store/schema.ts'
import { holdFolders } from '../store/storage/folders.ts'
import { type Mount } from './mounts.ts'

/**
 * Records which folders new sessions mount, in the transaction that creates the sessions. A folder that was moved to the trash since the
 * request was checked is refused; a recorded one cannot be moved there while a session uses it.
 *
 * @throws AppError `folder_not_found`
 */
export async function holdMounts(trx: Db, sessionIds: readonly SessionId[], mounts: readonly Mount[]): Promise<void> {
  await requireReady(trx, mounts)
  await insertSessionFolders(
    trx,
    sessionIds.flatMap(session_id => mounts.map(mount => rowOf(session_id, mount))),
  )
}

/** Records a folder that is being added to a running session, in the same way. @throws AppError `folder_not_found` */
export async function holdAdded(trx: Db, sessionId: SessionId, mount: Mount): Promise<void> {
  await requireReady(trx, [mount])
  await insertSessionFolders(trx, [{ ...rowOf(sessionId, mount), added: true, pending: 'mount' }])
}

function rowOf(session_id: SessionId, { folderId, name, path, readOnly }: Mount): NewSessionFolder {
  return { session_id, folder_id: folderId, name, path, read_only: readOnly }
}

async function requireReady(trx: Db, mounts: readonly Mount[]): Promise<void> {
  const ready = await holdFolders(trx, [...new Set(mounts.map(({ folderId }) => folderId))])
  const gone = mounts.find(({ folderId }) => !ready.has(folderId))
  if (gone) {
    throw new AppError('folder_not_found', { name: gone.name, ...because('folder_trashed', { name: gone.name }) })
  }
}
