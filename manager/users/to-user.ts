import { type User } from '#manager/contract'
import { type UserRow } from '../store/users.ts'

/** What others may see of an account. */
export function toUser(row: UserRow): User {
  const { id, email, name, role, domain, active } = row
  return { id, email, name, role, domain, active, createdAt: row.created_at.toISOString() }
}
