import { AppError } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type UserRow } from '../store/identity/users.ts'

/** @throws AppError `user_not_found` */
export async function mustFind(query: Promise<UserRow | undefined>): Promise<UserRow> {
  const user = await query
  if (!user) throw new AppError('user_not_found')
  return user
}

/** Tells the pages that show the account that it has changed. */
export function announceAccount(events: EventPublisher, user: UserRow): void {
  events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })
}
