import { type AccountLink, type UserId } from '#manager/contract'
import { insertEmailToken, type LinkOrigin } from '../store/identity/email-tokens.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { type AccountSpec, insertAccount } from './accounts.ts'
import { linkTo } from './links.ts'
import { hashToken, newToken } from './secrets.ts'

/** Longer than for a link that its reader has just requested: a new user may read the mail days later. */
const LINK_DAYS = 7

/** A new account whose password nobody knows, with the token of the link that sets one. */
export interface AccountWithToken {
  readonly user: UserRow
  readonly token: string
  readonly expiresAt: Date
}

/**
 * Inserts an account whose owner sets the first password with a link, which works once, for a week, and is stored only as a hash. Call it
 * inside a transaction.
 *
 * @param spec `password_hash`: of a password that is discarded at once; `origin`: who receives the link
 * @throws AppError `user_exists`, `domain_not_found`, `group_not_found`
 */
export async function insertAccountWithLink(
  trx: Db,
  { origin, ...spec }: Omit<AccountSpec, 'password_set'> & { readonly origin: LinkOrigin },
): Promise<AccountWithToken> {
  const user = await insertAccount(trx, { ...spec, password_set: false })
  return { user, ...(await insertPasswordLink(trx, user.id, origin)) }
}

/** Creates a link, valid for a week, for setting the password of an account without a known one. Call it inside a transaction. */
export async function insertPasswordLink(
  trx: Db,
  userId: UserId,
  origin: LinkOrigin,
): Promise<Pick<AccountWithToken, 'token' | 'expiresAt'>> {
  const token = newToken()
  const lifetimeSeconds = LINK_DAYS * 24 * 60 * 60
  const link = { hash: hashToken(token), userId, purpose: 'reset', origin, lifetimeSeconds } as const
  const expiresAt = await insertEmailToken(trx, link)
  if (!expiresAt) throw new Error('an account without a password has links already')
  return { token, expiresAt }
}

/** The link of a new account. @param base address of the console */
export function passwordLink(base: string, { token, expiresAt }: Omit<AccountWithToken, 'user'>): AccountLink {
  const url = linkTo(base, 'reset-password', { token })
  return { url, purpose: 'reset', expiresAt: expiresAt.toISOString() }
}
