import { type Selectable, sql } from 'kysely'
import { type FolderId, type FileConflict, type UploadId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type UploadsTable } from '../tables/storage.ts'
import { UPLOADER_MAY_WRITE } from './uploader-rights.ts'

export type UploadRow = Selectable<UploadsTable>

export interface NewUpload {
  readonly id: UploadId
  readonly folder_id: FolderId
  readonly user_id: UserId
  readonly path: string
  readonly size: number
  readonly on_conflict: FileConflict
  readonly sha256: string | null
  readonly finish_later: boolean
  readonly modified_at: Date | null
  readonly executable: boolean | null
  readonly owner_only: boolean
}

const seconds = (count: number) => sql<Date>`now() + ${count} * interval '1 second'`

/** @returns undefined if the user has the maximum number of unfinished uploads; the account is locked meanwhile */
export async function insertUpload(
  trx: Db,
  upload: NewUpload,
  { most, livesSeconds }: { most: number; livesSeconds: number },
): Promise<UploadRow | undefined> {
  await trx.selectFrom('users').select('id').where('id', '=', upload.user_id).forNoKeyUpdate().execute()
  const { count } = await trx
    .selectFrom('uploads')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', upload.user_id)
    .where('finished', '=', false)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirstOrThrow()
  if (count >= most) return undefined
  return trx
    .insertInto('uploads')
    .values({ ...upload, expires_at: seconds(livesSeconds) })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** An upload of this user that has not expired. */
export function findUpload(db: Db, id: UploadId, folderId: FolderId, userId: UserId): Promise<UploadRow | undefined> {
  return db
    .selectFrom('uploads')
    .selectAll()
    .where('id', '=', id)
    .where('folder_id', '=', folderId)
    .where('user_id', '=', userId)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

export function listUnfinished(db: Db, folderId: FolderId, userId: UserId): Promise<UploadRow[]> {
  return db
    .selectFrom('uploads')
    .selectAll()
    .where('folder_id', '=', folderId)
    .where('user_id', '=', userId)
    .where('finished', '=', false)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('id', 'desc')
    .execute()
}

export type UploadOfOther = UploadRow & { readonly email: string; readonly name: string }

/** Unfinished uploads into a folder by other users who may still write there, newest first. */
export function listUnfinishedOfOthers(db: Db, folderId: FolderId, userId: UserId): Promise<UploadOfOther[]> {
  return db
    .selectFrom('uploads as up')
    .innerJoin('folders as f', 'f.id', 'up.folder_id')
    .innerJoin('users', 'users.id', 'up.user_id')
    .selectAll('up')
    .select(['users.email', 'users.name'])
    .where('up.folder_id', '=', folderId)
    .where('up.user_id', '<>', userId)
    .where('up.finished', '=', false)
    .where('up.expires_at', '>', sql<Date>`now()`)
    .where(UPLOADER_MAY_WRITE)
    .orderBy('up.id', 'desc')
    .execute()
}

/** The user of an upload that has not expired, and the storage host of its folder. */
export function findToEnd(
  db: Db,
  id: UploadId,
  folderId: FolderId,
): Promise<{ readonly user_id: UserId; readonly storage_host: string } | undefined> {
  return db
    .selectFrom('uploads')
    .innerJoin('folders', 'folders.id', 'uploads.folder_id')
    .select(['uploads.user_id', 'folders.storage_host'])
    .where('uploads.id', '=', id)
    .where('uploads.folder_id', '=', folderId)
    .where('uploads.expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

/**
 * Deletes unfinished uploads of people who may not write to the folder any more, except uploads that are being written. @returns how many
 */
export async function deleteWithoutRight(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from uploads up using folders f
    where f.id = up.folder_id and not up.finished and (up.writer is null or up.writer_until < now())
      and not ${UPLOADER_MAY_WRITE}`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** How long a lease and its upload last after the lease was taken or renewed. */
export interface LeaseTimes {
  readonly leaseSeconds: number
  readonly livesSeconds: number
}

/** Leases the upload to one writer. @returns false if another writer has the lease, or if the upload was deleted */
export async function leaseUpload(
  db: Db,
  id: UploadId,
  writer: string,
  { leaseSeconds, livesSeconds }: LeaseTimes,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('uploads')
    .set({
      writer,
      writer_until: seconds(leaseSeconds),
      expires_at: seconds(livesSeconds),
    })
    .where('id', '=', id)
    .where(eb =>
      eb.or([eb('writer', 'is', null), eb('writer', '=', writer), eb('writer_until', '<', sql<Date>`now()`)]),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Renews the leases of several writers with one statement. @param leases moved: bytes have arrived since the last renewal @returns uploads
 * that still have the same writer
 */
export async function renewLeases(
  db: Db,
  leases: readonly { readonly id: UploadId; readonly writer: string; readonly moved: boolean }[],
  { leaseSeconds, livesSeconds }: LeaseTimes,
): Promise<ReadonlySet<UploadId>> {
  if (leases.length === 0) return new Set()
  const ids = leases.map(({ id }) => id)
  const names = leases.map(({ writer }) => writer)
  const moved = leases.map(lease => lease.moved)
  const { rows } = await sql<{ id: UploadId }>`
    update uploads u set writer_until = ${seconds(leaseSeconds)}, expires_at = ${seconds(livesSeconds)},
      moved_at = case when h.moved then now() else u.moved_at end
    from unnest(${ids}::uuid[], ${names}::uuid[], ${moved}::bool[]) as h (id, writer, moved)
    where u.id = h.id and u.writer = h.writer returning u.id`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** After this time without data, an upload reserves space only for the bytes that have arrived. */
export const MOVING_MINUTES = 10

/** Sets the time at which an upload received its last byte. */
export async function saveMoved(db: Db, id: UploadId, at: Date | 'now'): Promise<void> {
  const moved_at = at === 'now' ? sql<Date>`now()` : at
  await db.updateTable('uploads').set({ moved_at }).where('id', '=', id).execute()
}

/** Records how many bytes of an upload have arrived. */
export async function noteReceived(db: Db, id: UploadId, bytes: number): Promise<void> {
  await db
    .updateTable('uploads')
    .set({ received: bytes, moved_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('received', '<>', bytes)
    .execute()
}

export async function releaseUpload(db: Db, id: UploadId, writer: string): Promise<void> {
  await db
    .updateTable('uploads')
    .set({ writer: null, writer_until: null })
    .where('id', '=', id)
    .where('writer', '=', writer)
    .execute()
}

export async function markFinished(
  db: Db,
  id: UploadId,
  { path, livesSeconds }: { path: string; livesSeconds: number },
): Promise<void> {
  await db
    .updateTable('uploads')
    .set({ finished: true, path, expires_at: seconds(livesSeconds) })
    .where('id', '=', id)
    .execute()
}

export async function deleteUpload(db: Db, id: UploadId): Promise<void> {
  await db.deleteFrom('uploads').where('id', '=', id).execute()
}

/** Returns the ids that belong to unfinished uploads: their bytes are still needed. */
export async function stillNeeded(db: Db, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('uploads')
    .select('id')
    .where('id', 'in', ids as readonly UploadId[])
    .where('finished', '=', false)
    .where('expires_at', '>', sql<Date>`now()`)
    .execute()
  return new Set<string>(rows.map(({ id }) => id))
}

/** Records the path of the file before the file is put there. */
export async function renameUpload(db: Db, id: UploadId, path: string): Promise<void> {
  await db.updateTable('uploads').set({ path }).where('id', '=', id).execute()
}
