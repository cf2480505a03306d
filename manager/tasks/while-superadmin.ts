import { every } from '#base/every'
import { AppError, because, type UserId } from '#manager/contract'
import { listActiveRoles } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'

/** How long work of the administration may continue after its starter has lost the right to start it. */
export const RECHECK_MS = 5_000

export interface StarterWatch {
  readonly db: Store['db']
  /** Person who started the work. */
  readonly starter: UserId
  /** Cancels the work for other reasons. */
  readonly signal: AbortSignal
  readonly recheckMs: number
}

/**
 * Ends work when its starter is no superadmin any more: deactivated, demoted, or in a domain that was deactivated. Work whose starter has
 * lost the right already does not begin.
 *
 * @param work gets a signal that also fires when the right is lost
 * @throws AppError `forbidden` if the right was lost; else what `work` throws
 */
export async function whileSuperadmin<T>(
  { db, starter, signal, recheckMs }: StarterWatch,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  using watched = every(recheckMs, async () => {
    const role = (await listActiveRoles(db, [starter])).get(starter)?.role
    if (role !== 'superadmin') lost.abort(new AppError('forbidden', because('starter_left')))
  })
  try {
    await watched.now()
    lost.signal.throwIfAborted()
    return await work(AbortSignal.any([signal, lost.signal]))
  } catch (error) {
    throw lost.signal.aborted ? lost.signal.reason : error
  }
}
