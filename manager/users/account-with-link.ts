import { type AccountLink } from '#manager/contract'
import { insertEmailToken } from '../store/identity/email-tokens.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { type AccountSpec, insertAccount } from './accounts.ts'
import { linkTo } from './links.ts'
import { hashToken, newToken } from './secrets.ts'

/** People read their mail later than somebody who waits for a link that was just asked for. */
const LINK_DAYS = 7

/** A new account whose password nobody knows, with the token of the link that sets one. */
export interface AccountWithToken {
  readonly user: UserRow
  readonly token: string
  readonly expiresAt: Date
}

/**
 * Inserts an account whose owner sets the first password with a link, which works once, for a week, and of which only the hash
 * is kept; call inside a transaction.
 *
 * @param spec `password_hash`: of a password that is forgotten at once
 * @throws AppError `user_exists`, `domain_not_found`, `group_not_found`
 */
export async function insertAccountWithLink(
  trx: Db,
  spec: Omit<AccountSpec, 'password_set'>,
): Promise<AccountWithToken> {
  const user = await insertAccount(trx, { ...spec, password_set: false })
  const token = newToken()
  const expiresAt = await insertEmailToken(trx, {
    hash: hashToken(token),
    userId: user.id,
    purpose: 'reset',
    lifetimeSeconds: LINK_DAYS * 24 * 60 * 60,
  })
  if (!expiresAt) throw new Error('a new account has links already')
  return { user, token, expiresAt }
}

/** The link of a new account. @param base address of the console */
export function passwordLink(base: string, { token, expiresAt }: Omit<AccountWithToken, 'user'>): AccountLink {
  const url = linkTo(base, 'reset-password', { token })
  return { url, purpose: 'reset', expiresAt: expiresAt.toISOString() }
}
