import { sql } from 'kysely'
import { type FolderId, type KernelId, type PendingFolder, type SessionId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface NewSessionFolder {
  readonly session_id: SessionId
  readonly folder_id: FolderId
  /** Name of the folder. */
  readonly name: string
  readonly path: string
  readonly read_only: boolean
  /** Added while the session was running. */
  readonly added?: boolean
  readonly pending?: PendingFolder | null
}

export interface SessionFolderRow extends Required<NewSessionFolder> {
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
    .select(['session_folders.added', 'session_folders.pending'])
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

/**
 * Folders of a session that its owner chose: own folders, folders that the owner added while it ran, and folders that the owner mounted in
 * a session launched without anybody else.
 */
export async function listFoldersOfChoice(db: Db, id: SessionId): Promise<Set<FolderId>> {
  const { rows } = await sql<{ id: FolderId }>`
    select f.id from session_folders m join sessions s on s.id = m.session_id join folders f on f.id = m.folder_id
    where s.id = ${id}::uuid and (f.user_id = s.owner_id or m.added or exists (
      select from session_folders before join sessions own on own.id = before.session_id
      where before.folder_id = f.id and own.owner_id = s.owner_id and own.launched_by is null))`.execute(db)
  return new Set(rows.map(row => row.id))
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

/**
 * The running sessions of these kernels. @param options `also`: only sessions with added folders in their records, and sessions of these
 * kernels
 */
export async function listRunningSessionsOf(
  db: Db,
  kernelIds: readonly KernelId[],
  { also }: { readonly also?: readonly KernelId[] } = {},
): Promise<SessionId[]> {
  if (kernelIds.length === 0) return []
  const hasAdded = sql<boolean>`exists (select from session_folders f where f.session_id = sessions.id and f.added)`
  const rows = await db
    .selectFrom('kernels')
    .innerJoin('sessions', 'sessions.id', 'kernels.session_id')
    .select('sessions.id')
    .distinct()
    .where('kernels.id', '=', sql<KernelId>`any(${kernelIds}::uuid[])`)
    .where('sessions.status', '=', 'RUNNING')
    .$if(also !== undefined, query =>
      query.where(sql<boolean>`(${hasAdded} or kernels.id = any(${also ?? []}::uuid[]))`),
    )
    .execute()
  return rows.map(({ id }) => id)
}

/** Records the change requested from the agent, or that there is none. @returns whether that changes the state of an added folder */
export async function setPending(
  db: Db,
  { session_id, folder_id }: Pick<NewSessionFolder, 'session_id' | 'folder_id'>,
  pending: PendingFolder | null,
): Promise<boolean> {
  const rows = await db
    .updateTable('session_folders')
    .set({ pending })
    .where('session_id', '=', session_id)
    .where('folder_id', '=', folder_id)
    .where('added', '=', true)
    .where('pending', 'is distinct from', pending)
    .returning('path')
    .execute()
  return rows.length > 0
}

/** @returns whether there was such a folder */
export async function deleteAdded(
  db: Db,
  { session_id, folder_id }: Pick<NewSessionFolder, 'session_id' | 'folder_id'>,
): Promise<boolean> {
  const rows = await db
    .deleteFrom('session_folders')
    .where('session_id', '=', session_id)
    .where('folder_id', '=', folder_id)
    .where('added', '=', true)
    .returning('path')
    .execute()
  return rows.length > 0
}

/** Makes the folders that were added during a run part of the next run of the session. */
export async function startWithAdded(db: Db, sessionId: SessionId): Promise<void> {
  const ofSession = db.deleteFrom('session_folders').where('session_id', '=', sessionId)
  await ofSession.where('pending', '=', 'unmount').execute()
  await db
    .updateTable('session_folders')
    .set({ added: false, pending: null })
    .where('session_id', '=', sessionId)
    .where('added', '=', true)
    .execute()
}
