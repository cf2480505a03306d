import { type EventHint, type SessionStats, type UserId } from '#manager/contract'

/** Who may learn of an event. A superadmin gets those of every user as well. */
export type Audience = { readonly userId: UserId } | 'everyone' | 'superadmins'

/** What services call after they changed something (after the transaction, never inside). */
export interface EventPublisher {
  publish(hint: EventHint, audience: Audience): void
  /** Live figures; reach only streams that watch this session, and are never kept. */
  publishStats(sessionId: string, ownerId: UserId, stats: SessionStats): void
}
