import { AppError, because, type Because, type ErrorCode, together } from '#manager/contract'
import { type FolderCounts } from '../store/storage/folders.ts'
import { type Store } from '../store/open-store.ts'
import { countSessionsOf, deleteEndedSessions, type SessionCounts, type SessionsOf } from '../store/identity/removal.ts'

/** Contents that prevent the deletion of a project, a domain or a resource group. */
export interface Contents {
  /** Sentences with the next step that removes the obstacle. */
  readonly holds: readonly Because[]
  /** Numbers of things that a purge also deletes; `records` of ended sessions. */
  readonly purgeable: { readonly members?: number; readonly invitations?: number; readonly records?: number }
}

/**
 * Refuses a deletion while anything is left, so that nobody loses something by mistake. A purge also deletes members, invitations and
 * records of ended sessions, but never anything live. The purged object must be inactive first, so that nothing new is added meanwhile.
 *
 * @throws AppError of the given code, which names the remaining things and the next step
 */
export function requireEmpty(
  code: ErrorCode,
  name: string,
  { holds, purgeable }: Contents,
  { purge, active }: { purge: boolean; active: boolean },
): void {
  const [held, ...others] = holds
  if (held !== undefined) throw new AppError(code, { name, ...together(held, ...others) })
  const [first, ...rest] = inWords(purgeable)
  if (first === undefined) return
  if (!purge) throw new AppError(code, { name, ...together(first, ...rest, because('purge_deletes', { name })) })
  if (active) throw new AppError(code, { name, ...together(first, ...rest, because('purge_of_active', { name })) })
}

/** Sentence with the next step about sessions that have not ended; an empty list if there are none. */
export function liveSessions({ live }: Pick<SessionCounts, 'live'>): Because[] {
  return live === 0 ? [] : [because('sessions_not_ended', { count: live })]
}

/** Next step about the folders of a project or of a domain's projects; an empty list if there are none. */
export function folders({ kept, deleting }: FolderCounts): Because[] {
  return [
    ...(kept === 0 ? [] : [because('projects_own_folders', { count: kept })]),
    ...(deleting === 0 ? [] : [because('folders_being_deleted', { count: deleting })]),
  ]
}

const BATCH = 500

/**
 * Deletes the records of ended sessions in batches, because one statement for all would exceed the time limit. After an interruption, the
 * next attempt deletes the rest.
 */
export async function purgeSessions(store: Store, of: SessionsOf): Promise<number> {
  if ((await countSessionsOf(store.db, of)).live > 0) return 0
  let deleted = 0
  for (;;) {
    const count = await deleteEndedSessions(store.db, of, BATCH)
    deleted += count
    if (count < BATCH) return deleted
  }
}

function inWords({ members = 0, invitations = 0, records = 0 }: Contents['purgeable']): Because[] {
  return [
    ...(members === 0 ? [] : [because('still_members', { count: members })]),
    ...(invitations === 0 ? [] : [because('still_invitations', { count: invitations })]),
    ...(records === 0 ? [] : [because('still_records', { count: records })]),
  ]
}
