import { type GroupRef, type User } from '#manager/contract'
import { listGroupsOf } from '../store/identity/groups.ts'
import { type Db } from '../store/schema.ts'
import { type UserRow } from '../store/identity/users.ts'

/** Converts rows of accounts to the form that others may see, with the groups of each account. */
export async function toUsers(db: Db, rows: readonly UserRow[]): Promise<User[]> {
  const ids = rows.map(row => row.id)
  const groups = await listGroupsOf(db, ids)
  return rows.map(row => view(row, groups.get(row.id) ?? []))
}

export async function toUser(db: Db, row: UserRow): Promise<User> {
  const groups = await listGroupsOf(db, [row.id])
  return view(row, groups.get(row.id) ?? [])
}

function view(row: UserRow, groups: GroupRef[]): User {
  const { id, email, name, description, role, domain, active, resource_policy: resourcePolicy } = row
  const mustChangePassword = row.must_change_password
  const passwordFrom = row.password_set ? row.password_from : ('nobody' as const)
  const emailVerified = row.email_verified_at !== null
  const secondFactor = row.totp_confirmed_at !== null
  const createdAt = row.created_at.toISOString()
  const state = { active, emailVerified, secondFactor, mustChangePassword, passwordFrom }
  return { id, email, name, description, role, domain, groups, ...state, resourcePolicy, createdAt }
}
