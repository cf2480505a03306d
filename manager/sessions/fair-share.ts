import { AppError, because, type FairShare, formatSlots, type GroupId, type UserId } from '#manager/contract'
import { accessibleTo } from '../quotas/access.ts'
import { requireResourceGroup } from '../quotas/require-resource-group.ts'
import { explainShares, openCapacity, type UserShare } from '../scheduler/plan/index.ts'
import { type PlacingPresence, readGroup } from '../scheduler/snapshot.ts'
import { noSuchResourceGroup } from '../store/missing.ts'
import { findGroups } from '../store/identity/groups.ts'
import { listUserNames } from '../store/identity/users.ts'
import { findSessions } from '../store/sessions/sessions.ts'
import { type Db } from '../store/schema.ts'
import { administers, type Caller } from '../users/authorize.ts'

/** Most users in the answer; waiting ones come first. */
const MOST = 500

/**
 * Explains the order of a group with DRF. An admin of a domain sees the users of the domain, with their turns among all users.
 *
 * @throws AppError `resource_group_not_found` (also for one that the caller may not use), `bad_request` (another sequencer)
 */
export async function explainFairShare(
  { db, presence, caller }: { db: Db; presence: PlacingPresence; caller: Caller },
  name: string,
): Promise<FairShare> {
  const { sequencer } = await requireResourceGroup(db, name)
  const accessible = await accessibleTo(db, caller)
  if (accessible && !accessible.has(name)) throw noSuchResourceGroup(name)
  if (sequencer !== 'drf') throw new AppError('bad_request', because('not_fair_share', { group: name, sequencer }))
  const { snapshot } = await readGroup(db, name, presence)
  const all = explainShares(snapshot).map((user, index) => ({ ...user, turn: user.next ? index + 1 : null }))
  const users = new Map(
    (
      await listUserNames(
        db,
        all.map(({ id }) => id as UserId),
      )
    )
      .filter(({ domain }) => administers(caller, domain))
      .map(({ id, email }) => [id, email]),
  )
  const shown = all.filter(({ id }) => users.has(id as UserId)).slice(0, MOST)
  const names = new Map(
    (
      await findSessions(
        db,
        shown.flatMap(({ next }) => next?.id ?? []),
      )
    ).map(row => [row.id, row.name]),
  )
  const projects = new Map(
    (
      await findGroups(
        db,
        undefined,
        shown.flatMap(({ project }) => project?.id ?? []),
      )
    )
      .filter(({ domain }) => administers(caller, domain))
      .map(row => [String(row.id), row.name]),
  )
  const { reservation } = snapshot
  const isSeen = reservation !== undefined && shown.some(({ id }) => ownerOf(reservation.sessionId) === id)
  return {
    capacity: formatSlots(openCapacity(snapshot)),
    items: shown.map(({ id, held, next, project, ...user }) => ({
      ...user,
      project: project && projectOf(project),
      userId: id as UserId,
      email: users.get(id as UserId) ?? '',
      held: formatSlots(held),
      next: nextOf(next),
    })),
    reserved: isSeen ? reservation.sessionId : null,
  }

  function projectOf({ id, fraction, weight, share }: NonNullable<UserShare['project']>) {
    // Empty for a session without a project, and for a project of another domain.
    return { id: (id || null) as GroupId | null, name: projects.get(id) ?? '', fraction, weight, share }
  }
  function nextOf(next: UserShare['next']): FairShare['items'][number]['next'] {
    return next ? { id: next.id, name: names.get(next.id) ?? '', priority: next.priority ?? 0 } : null
  }
  function ownerOf(id: string): string | undefined {
    return snapshot.pending.find(session => session.id === id)?.ownerId
  }
}
