import { AppError, type ErrorCode } from '#manager/contract'
import { type FolderCounts } from '../store/storage/folders.ts'
import { type Store } from '../store/open-store.ts'
import { countSessionsOf, deleteEndedSessions, type SessionCounts, type SessionsOf } from '../store/identity/removal.ts'

/** Contents that prevent the deletion of a project, a domain or a resource group. */
export interface Contents {
  /** Sentences with the next step: only that step removes the obstacle. */
  readonly holds: readonly string[]
  /** Contents that a purge deletes too: `2 members`. */
  readonly purgeable: readonly string[]
}

/**
 * Refuses a deletion while anything is left, so that nobody loses something by a slip of the hand. A purge deletes members,
 * invitations and records of ended sessions too, never anything live. The purged object must be inactive first, so that
 * nothing new is added meanwhile.
 *
 * @throws AppError of the given code, which names what is left and the next step
 */
export function requireEmpty(
  code: ErrorCode,
  name: string,
  { holds, purgeable }: Contents,
  { purge, active }: { purge: boolean; active: boolean },
): void {
  const [first] = holds
  if (first !== undefined) throw new AppError(code, { name, why: holds.join(' ') })
  if (purgeable.length === 0) return
  const what = inWords(purgeable)
  if (!purge) {
    const why = `Still there: ${what}. To delete these too, deactivate "${name}" first, then delete it with "purge".`
    throw new AppError(code, { name, why })
  }
  if (active)
    throw new AppError(code, { name, why: `"${name}" is active and has ${what}. Deactivate it before the purge.` })
}

/** `1 member`, `3 members`; an empty list for 0. */
export function counted(count: number, one: string, many = `${one}s`): string[] {
  return count === 0 ? [] : [count === 1 ? `1 ${one}` : `${count} ${many}`]
}

/** Sentence with the next step about sessions that have not ended; an empty list if there are none. */
export function liveSessions({ live }: Pick<SessionCounts, 'live'>): string[] {
  if (live === 0) return []
  return [live === 1 ? '1 session has not ended. End it first.' : `${live} sessions have not ended. End them first.`]
}

export const endedSessions = ({ ended }: Pick<SessionCounts, 'ended'>): string[] =>
  counted(ended, 'record of an ended session', 'records of ended sessions')

/** Next step about the folders of a project or of a domain's projects; nothing for none. */
export function folders({ kept, deleting }: FolderCounts): string[] {
  return [
    ...counted(kept, 'folder').map(some => `Projects own ${some}. Delete them first, also from the trash.`),
    ...counted(deleting, 'folder').map(some => `The files of ${some} are still being deleted. Try again later.`),
  ]
}

const BATCH = 500

/**
 * Deletes the records of ended sessions in batches: one statement for all would take longer than a statement may. An
 * interruption leaves the rest for the next attempt.
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

function inWords(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`
}
