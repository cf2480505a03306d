import { type FolderId, type SessionId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface NewSessionFolder {
  readonly session_id: SessionId
  readonly folder_id: FolderId
  /** Of the folder. */
  readonly name: string
  readonly path: string
  readonly read_only: boolean
}

export interface SessionFolderRow extends NewSessionFolder {
  /** Marker of its storage host. */
  readonly marker: string
}

export async function insertSessionFolders(db: Db, rows: readonly NewSessionFolder[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('session_folders').values(rows).execute()
}

/** The folders of each of these sessions, ordered by path; without folders that were deleted since. */
export async function listSessionFolders(
  db: Db,
  ids: readonly SessionId[],
): Promise<Map<SessionId, SessionFolderRow[]>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('session_folders')
    .innerJoin('folders', 'folders.id', 'session_folders.folder_id')
    .innerJoin('storage_hosts', 'storage_hosts.name', 'folders.storage_host')
    .select(['session_folders.session_id', 'session_folders.path', 'session_folders.read_only'])
    .select(['folders.id as folder_id', 'folders.name', 'storage_hosts.marker'])
    .where('session_folders.session_id', 'in', ids)
    .orderBy('session_folders.path')
    .execute()
  return Map.groupBy(rows, row => row.session_id)
}

/** Storages of the folders of each pending session of a resource group, ordered by marker; only sessions with folders. */
export async function readStorageOfPending(
  db: Db,
  resourceGroup: string,
): Promise<Map<SessionId, { marker: string; name: string }[]>> {
  const rows = await db
    .selectFrom('session_folders')
    .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
    .innerJoin('folders', 'folders.id', 'session_folders.folder_id')
    .innerJoin('storage_hosts', 'storage_hosts.name', 'folders.storage_host')
    .select(['session_folders.session_id', 'storage_hosts.marker', 'storage_hosts.name'])
    .distinct()
    .where('sessions.resource_group', '=', resourceGroup)
    .where('sessions.status', '=', 'PENDING')
    .orderBy('storage_hosts.marker')
    .execute()
  return Map.groupBy(rows, row => row.session_id)
}

/** Storages of these folders, each once, ordered by marker. */
export async function readStorageOf(db: Db, ids: readonly FolderId[]): Promise<{ marker: string; name: string }[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('folders')
    .innerJoin('storage_hosts', 'storage_hosts.name', 'folders.storage_host')
    .select(['storage_hosts.marker', 'storage_hosts.name'])
    .distinct()
    .where('folders.id', 'in', ids)
    .orderBy('storage_hosts.marker')
    .execute()
}

/** Names of the folders that a session mounted and that were deleted since. */
export async function listDeletedFolders(db: Db, id: SessionId): Promise<string[]> {
  const rows = await db
    .selectFrom('session_folders')
    .select('name')
    .where('session_id', '=', id)
    .where('folder_id', 'is', null)
    .orderBy('path')
    .execute()
  return rows.map(({ name }) => name)
}
