import { type RawBuilder, sql } from 'kysely'
import { type FolderId, type GroupId, type UploadId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { UPLOADER_MAY_WRITE } from './uploader-rights.ts'
import { MOVING_MINUTES } from './uploads.ts'

export interface Measured {
  readonly bytes: number | null
  readonly files: number | null
  readonly tookMs: number
}

export type Usage = Pick<Measured, 'bytes' | 'files'>

/** @returns undefined if the folder was never measured */
export function readUsage(db: Db, id: FolderId): Promise<Usage | undefined> {
  return db.selectFrom('folder_usage').select(['bytes', 'files']).where('folder_id', '=', id).executeTakeFirst()
}

/**
 * Saves the result of measuring a folder. Bytes that Berth wrote during the measurement are added, because it may have missed them. If it
 * did not, the figures are too high until the next one.
 *
 * @param before the figures when the measurement began
 * @returns whether the figures differ from `before`; also false if the folder was deleted
 */
export async function saveUsage(
  db: Db,
  id: FolderId,
  before: Usage | undefined,
  { bytes, files, tookMs }: Measured,
): Promise<boolean> {
  const { rows } = await sql<Usage>`
    insert into folder_usage as u (folder_id, bytes, files, took_ms)
      select id, ${bytes}, ${files}, ${tookMs} from folders where id = ${id}::uuid
    on conflict (folder_id) do update
      set bytes = excluded.bytes + greatest(0, u.bytes - ${before?.bytes ?? null}::bigint),
          files = excluded.files + greatest(0, u.files - ${before?.files ?? null}::bigint),
          took_ms = excluded.took_ms, measured_at = now()
    returning bytes, files`.execute(db)
  const [after] = rows
  return after !== undefined && (before?.bytes !== after.bytes || before.files !== after.files)
}

/** Size of a folder with its limits, and of all folders of its owner. */
export interface FolderSizes {
  readonly id: FolderId
  readonly name: string
  readonly storage_host: string
  readonly max_bytes: number | null
  readonly enforced_bytes: number | null
  readonly max_files: number | null
  readonly enforced_files: number | null
  readonly group_id: GroupId | null
  /** The limit for all folders of the owner, by the owner's resource policy, or for all folders of the project. */
  readonly owner_max_bytes: number | null
  /** The limit for the files in all folders of the owner, by the owner's resource policy, or in all folders of the project. */
  readonly owner_max_files: number | null
  /** Measured bytes of those folders. */
  readonly owned: number | null
  readonly owned_files: number | null
  /** Null if the folder was not measured. */
  readonly bytes: number | null
  readonly files: number | null
  readonly measured_at: Date | null
  readonly took_ms: number | null
  /** Bytes reserved by the unfinished uploads into the folder: `heldBytes`. */
  readonly staged: number
  /** Bytes reserved by unfinished uploads into all folders of the owner or project. */
  readonly owned_staged: number
}

/** @returns undefined if the folder was deleted */
export async function readSizes(db: Db, id: FolderId): Promise<FolderSizes | undefined> {
  return db
    .selectFrom('folders')
    .leftJoin('users as owners', 'owners.id', 'folders.user_id')
    .leftJoin('resource_policies as policies', 'policies.name', 'owners.resource_policy')
    .leftJoin('groups', 'groups.id', 'folders.group_id')
    .leftJoin('folder_usage as usage', 'usage.folder_id', 'folders.id')
    .select(['folders.id', 'folders.group_id'])
    .select(['folders.name', 'folders.storage_host', 'folders.max_bytes', 'folders.enforced_bytes', 'usage.bytes'])
    .select(['folders.max_files', 'folders.enforced_files', 'usage.files'])
    .select(['usage.measured_at', 'usage.took_ms'])
    .select([ownerLimit.as('owner_max_bytes'), ownerFileLimit.as('owner_max_files')])
    .select([owned(sql`u.bytes`).as('owned'), owned(sql`u.files`).as('owned_files')])
    .select([stagedBytes(sql`f.id = folders.id`).as('staged')])
    .select([stagedBytes(ofSameOwner).as('owned_staged')])
    .where('folders.id', '=', id)
    .executeTakeFirst()
}

/** A folder has an owner or a project, never both. */
const ownerLimit = sql<number | null>`coalesce(policies.max_folder_bytes, groups.max_folder_bytes)`
const ofSameOwner = sql`(f.user_id = folders.user_id or f.group_id = folders.group_id)`

const ownerFileLimit = sql<number | null>`coalesce(policies.max_folder_files, groups.max_folder_files)`

/** @param what column of `u`, the usage of a folder */
const owned = (what: RawBuilder<unknown>) => sql<number | null>`(
  select sum(${what})::bigint from folder_usage u join folders f on f.id = u.folder_id
  where ${ofSameOwner} and f.status <> 'deleting')`

/** Bytes that an upload reserves: its announced size while it receives data, so that two uploads do not use the same free space. */
const heldBytes = sql<number>`case when up.moved_at > now() - ${MOVING_MINUTES} * interval '1 minute'
  then up.size else least(up.received, up.size) end`

/**
 * Uploads of people who may not write any more reserve nothing: nobody could see or finish them.
 *
 * @param which condition on `f`, the folder of an upload
 */
const stagedBytes = (which: RawBuilder<unknown>) => sql<number>`(
  select coalesce(sum(${heldBytes}), 0)::bigint from uploads up join folders f on f.id = up.folder_id
  where ${which} and f.status <> 'deleting' and not up.finished and up.expires_at > now() and ${UPLOADER_MAY_WRITE})`

/** A path whose file is replaced by unfinished uploads. */
export interface Replacing {
  readonly path: string
  /** Bytes that the largest of these uploads reserves. */
  readonly held: number
}

const MOST_REPLACING = 1_000

/** Paths in a folder that unfinished uploads will replace, except the path of one upload. */
export function listReplacing(db: Db, folderId: FolderId, except: UploadId): Promise<Replacing[]> {
  return db
    .selectFrom('uploads as up')
    .innerJoin('folders as f', 'f.id', 'up.folder_id')
    .select(['up.path', sql<number>`max(${heldBytes})::bigint`.as('held')])
    .where(UPLOADER_MAY_WRITE)
    .where('up.folder_id', '=', folderId)
    .where('up.id', '!=', except)
    .where('up.on_conflict', '=', 'replace')
    .where('up.finished', '=', false)
    .where('up.expires_at', '>', sql<Date>`now()`)
    .groupBy('up.path')
    .orderBy('held', 'desc')
    .limit(MOST_REPLACING)
    .execute()
}

/** Measured size of all folders that a user owns. */
export function readOwned(db: Db, userId: UserId): Promise<{ bytes: number; files: number }> {
  return db
    .selectFrom('folder_usage as u')
    .innerJoin('folders as f', 'f.id', 'u.folder_id')
    .select(sql<number>`coalesce(sum(u.bytes), 0)::bigint`.as('bytes'))
    .select(sql<number>`coalesce(sum(u.files), 0)::bigint`.as('files'))
    .where('f.user_id', '=', userId)
    .where('f.status', '!=', 'deleting')
    .executeTakeFirstOrThrow()
}

/** The limit for all folders of a user together, by the user's own resource policy; null = unlimited. */
export async function readOwnedLimits(db: Db, userId: UserId): Promise<{ bytes: number | null; files: number | null }> {
  const row = await db
    .selectFrom('users')
    .innerJoin('resource_policies as p', 'p.name', 'users.resource_policy')
    .select(['p.max_folder_bytes as bytes', 'p.max_folder_files as files'])
    .where('users.id', '=', userId)
    .executeTakeFirst()
  return row ?? { bytes: null, files: null }
}

/** Adds bytes that Berth itself writes until the folder is measured again; negative numbers subtract. */
export async function addUsage(
  db: Db,
  id: FolderId,
  { bytes, files }: { readonly bytes: number; readonly files: number },
): Promise<void> {
  await db
    .updateTable('folder_usage')
    .set({
      bytes: sql<number>`greatest(0, bytes + ${bytes}::bigint)`,
      files: sql<number>`greatest(0, files + ${files}::bigint)`,
    })
    .where('folder_id', '=', id)
    .where('bytes', 'is not', null)
    .execute()
}

/** Holds the usage of all folders of an owner or project until the end of the transaction: others who want to hold it wait, at all managers. */
export async function lockUsage(trx: Db, id: FolderId): Promise<void> {
  const owner = sql`'berth:folder-usage:' || coalesce(user_id, group_id)::text`
  await sql`select pg_advisory_xact_lock(hashtextextended(${owner}, 0)) from folders where id = ${id}`.execute(trx)
}

/** Folders that count towards the same owner or project as this one, including itself. */
export async function listOfSameOwner(db: Db, id: FolderId): Promise<MeasuredAt[]> {
  return db
    .selectFrom('folders as f')
    .innerJoin('folders as one', join =>
      join
        .on('one.id', '=', id)
        .on(eb =>
          eb.or([
            eb('f.id', '=', eb.ref('one.id')),
            eb('f.user_id', '=', eb.ref('one.user_id')),
            eb('f.group_id', '=', eb.ref('one.group_id')),
          ]),
        ),
    )
    .leftJoin('folder_usage as u', 'u.folder_id', 'f.id')
    .select(['f.id', 'f.storage_host', 'u.measured_at', 'u.took_ms'])
    .where('f.status', '!=', 'deleting')
    .execute()
}

export interface MeasuredAt {
  readonly id: FolderId
  readonly storage_host: string
  readonly measured_at: Date | null
  readonly took_ms: number | null
}

/** Records which limits the file system enforces now. */
export async function saveEnforced(
  db: Db,
  id: FolderId,
  { bytes, files }: { readonly bytes: number | null; readonly files: number | null },
): Promise<void> {
  await db.updateTable('folders').set({ enforced_bytes: bytes, enforced_files: files }).where('id', '=', id).execute()
}

/** Folders whose current limits the file system does not enforce. */
export async function listUnenforced(db: Db): Promise<FolderId[]> {
  const rows = await db
    .selectFrom('folders')
    .leftJoin('users as owners', 'owners.id', 'folders.user_id')
    .leftJoin('resource_policies as policies', 'policies.name', 'owners.resource_policy')
    .leftJoin('groups', 'groups.id', 'folders.group_id')
    .select('folders.id')
    .where('folders.status', '!=', 'deleting')
    // Same as `enforceable`: `least` ignores nulls.
    .where(
      sql<boolean>`(least(folders.max_bytes, ${ownerLimit}) is distinct from folders.enforced_bytes
        or least(folders.max_files, ${ownerFileLimit}) is distinct from folders.enforced_files)`,
    )
    .execute()
  return rows.map(({ id }) => id)
}
