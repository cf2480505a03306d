import { type Selectable, sql } from 'kysely'
import { type SessionId, type Task, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type TasksTable } from '../tables/images.ts'

export type TaskRow = Selectable<TasksTable>

/** @returns false if a rescan of this target, or a backup, is running already */
export async function insertTask(
  db: Db,
  task: {
    id: string
    kind: Task['kind']
    target: string
    detail: TaskRow['detail']
    startedBy: string
    userId?: UserId | undefined
  },
): Promise<boolean> {
  const { id, kind, target, detail, startedBy, userId = null } = task
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tasks')
    .values({
      id,
      kind,
      target,
      detail: JSON.stringify(detail),
      status: 'running',
      started_by: startedBy,
      user_id: userId,
    })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** The newest task for saving an image of this session. */
export function findSaveOf(db: Db, sessionId: SessionId): Promise<TaskRow | undefined> {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('kind', '=', 'save')
    .where(sql<string>`detail ->> 'sessionId'`, '=', sessionId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export function findTask(db: Db, id: string): Promise<TaskRow | undefined> {
  return db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The running task that prevents another one of its kind: one with the same target, any backup, or one that saves the same session. */
export function findRunningSole(
  db: Db,
  {
    kind,
    target,
    sessionId,
  }: { readonly kind: Task['kind']; readonly target: string; readonly sessionId?: string | undefined },
): Promise<TaskRow | undefined> {
  const running = db.selectFrom('tasks').selectAll().where('status', '=', 'running').where('kind', '=', kind)
  if (kind === 'backup') return running.executeTakeFirst()
  const isOfSession =
    sessionId === undefined ? sql<boolean>`false` : sql<boolean>`detail ->> 'sessionId' = ${sessionId}`
  return running.where(eb => eb.or([eb('target', '=', target), isOfSession])).executeTakeFirst()
}

/** @param userId only tasks of this user */
export function listTasks(db: Db, limit: number, userId?: UserId): Promise<TaskRow[]> {
  const tasks = db.selectFrom('tasks').selectAll()
  const shown = userId === undefined ? tasks : tasks.where('user_id', '=', userId)
  return shown.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}

/**
 * Heartbeat of a running task, with its progress.
 * @returns its version and whether to cancel it; undefined if another process has ended it
 */
export async function saveTaskProgress(
  db: Db,
  id: string,
  detail: TaskRow['detail'],
): Promise<{ version: number; cancel_asked: boolean } | undefined> {
  return db
    .updateTable('tasks')
    .set({ detail: JSON.stringify(detail), seen_at: sql`now()`, version: sql`version + 1` })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .returning(['version', 'cancel_asked'])
    .executeTakeFirst()
}

export async function endTask(
  db: Db,
  id: string,
  { status, error, detail }: Pick<TaskRow, 'status' | 'error' | 'detail'>,
): Promise<number | undefined> {
  const row = await db
    .updateTable('tasks')
    .set({
      status,
      error: JSON.stringify(error),
      detail: JSON.stringify(detail),
      ended_at: sql`now()`,
      version: sql`version + 1`,
    })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .returning('version')
    .executeTakeFirst()
  return row?.version
}

export async function askTaskToCancel(db: Db, id: string): Promise<void> {
  await db.updateTable('tasks').set({ cancel_asked: true }).where('id', '=', id).execute()
}

/** Ends tasks without a heartbeat for `silentMs`: their manager is gone. @returns the tasks that it ended */
export async function endDeadTasks(
  db: Db,
  silentMs: number,
  error: NonNullable<Task['error']>,
): Promise<Pick<TaskRow, 'id' | 'version' | 'user_id'>[]> {
  return db
    .updateTable('tasks')
    .set({
      status: 'cancelled',
      error: JSON.stringify(error),
      ended_at: sql`now()`,
      version: sql`version + 1`,
    })
    .where('status', '=', 'running')
    .where('seen_at', '<', sql<Date>`now() - ${silentMs} * interval '1 millisecond'`)
    .returning(['id', 'version', 'user_id'])
    .execute()
}
