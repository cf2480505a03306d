import { AppError, because, type PasswordFrom, Role, type UserId } from '#manager/contract'
import { type LinkOrigin, MAILED } from '../store/identity/email-tokens.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Account, type Caller, isSuperadmin, managesAccount } from './authorize.ts'

/**
 * Rights of one person over another's account, by the rule of ADR 59: an administrator manages people, but never acts as them. Every action
 * on another person's account is checked here; `account-notifier.ts` informs the person.
 *
 * Threat model: an administrator who wants to act as somebody else unnoticed. An administrator receives no secret of another person if
 * there is another way. If there is none (a link or a first password without mail), using the secret invalidates the person's own password,
 * so that the person notices; and a second factor still protects the account.
 */

/**
 * Actions for which the own account has another way, with a text that names it. A browser that was left signed in, or a stolen keypair,
 * must not be enough to take over the account: an action that gives a new way to sign in requires the password again, or a sign-in within
 * the last minutes (`provePerson`), and accepts no keypair. Ending sign-ins gives no new way.
 */
const OWN_WAYS = {
  make_keypair: 'POST /api/v1/keypairs, signed in as yourself',
  set_password: 'POST /api/v1/me/password, with the old password',
  make_link: 'POST /api/v1/me/password, with the old password',
  end_sign_ins: 'DELETE /api/v1/me/logins',
  reset_second_factor: 'POST /api/v1/me/totp/disable, with password and code',
} as const
export type DeedWithOwnWay = keyof typeof OWN_WAYS

/**
 * Refuses a person whom the caller does not manage with the same error as for a person who does not exist. @throws AppError
 * `user_not_found`
 */
export function requireManaged<T extends Account>(caller: Caller, person: T | undefined): T {
  if (!person || !managesAccount(caller, person)) throw new AppError('user_not_found')
  return person
}

/** Refuses administrators' actions on the caller's own account. @throws AppError `forbidden` */
export function requireAnother(caller: Pick<Caller, 'userId'>, userId: UserId, deed: DeedWithOwnWay): void {
  if (caller.userId !== userId) return
  throw new AppError('forbidden', because('own_account_elsewhere', { request: OWN_WAYS[deed] }))
}

/** Whether mail reaches the person: accounts without an address have the domain `localhost`. */
export function isReachable(
  { email }: Pick<UserRow, 'email'>,
  { mailReady }: { readonly mailReady: boolean },
): boolean {
  return mailReady && !email.endsWith('@localhost')
}

/**
 * Whether the caller may receive a link or a first password for another person. If mail reaches the person, it is mailed instead.
 * Superadmins may always receive it, for people who have lost their mailbox; the person is informed.
 */
export function mayHoldSecret(caller: Pick<Caller, 'role'>, isReached: boolean): boolean {
  return !isReached || isSuperadmin(caller)
}

/** Refuses a password that somebody else chooses if a mailed link can be used instead. @throws AppError `forbidden` */
export function requireMaySetPassword(
  caller: Pick<Caller, 'role'>,
  person: Pick<UserRow, 'email'>,
  system: LinkDelivery,
): void {
  if (!mayHoldSecret(caller, isReachedByLink(person, system))) {
    throw new AppError('forbidden', because('mail_brings_link'))
  }
}

/** Whether the person gets a link for setting a password by mail. */
function isReachedByLink(person: Pick<UserRow, 'email'>, { mailReady, publicUrl }: LinkDelivery): boolean {
  return isReachable(person, { mailReady: mailReady && publicUrl !== null })
}

/** Settings that are needed for mailing a link. */
export interface LinkDelivery {
  readonly mailReady: boolean
  readonly publicUrl: string | null
}

/**
 * Refuses to switch on a second factor while somebody else may know the password: that person could use it to lock the owner out, even
 * after the owner sets a new password by a mailed link. Without mail there is no such link, so it is allowed. @throws AppError `forbidden`
 */
export function requireOwnPassword(
  person: Pick<UserRow, 'email' | 'password_set' | 'password_from'>,
  system: LinkDelivery,
): void {
  if (!othersMayKnowPassword(person) || !isReachedByLink(person, system)) return
  throw new AppError('forbidden', because('own_password_before_factor'))
}

type Authority = Pick<UserRow, 'role' | 'domain'>
/** Rank of a role: each role has more rights than the one before. */
const rank = (role: Role) => Role.options.indexOf(role)

/**
 * Whether a change gives the account more rights, or other administrators, so that passwords and keypairs known to others are invalidated.
 */
export function endsWhatOthersKnew(before: Authority, after: Authority): boolean {
  return rank(after.role) > rank(before.role) || after.domain !== before.domain
}

/** Whether somebody else may know the password. Nobody knows the password of an account that signs in only at a provider. */
export function othersMayKnowPassword(person: Pick<UserRow, 'password_set' | 'password_from'>): boolean {
  return person.password_set && person.password_from !== 'person'
}

/**
 * Whether an admin of the domain may know the password, or a stranger have chosen it at a sign-up: then an account with somebody's address
 * does not prove that it is this person's. Superadmins are left out.
 */
export function isOfDoubtfulPerson(person: Pick<UserRow, 'password_set' | 'password_from'>): boolean {
  return othersMayKnowPassword(person) && person.password_from !== 'superadmin'
}

/**
 * Whether a new password ends the doubt about the previous one. A password or link that a superadmin received ends the doubt about admins
 * of the domain and begins a new doubt.
 */
export function endsDoubt(before: PasswordFrom, after: PasswordFrom): boolean {
  return before !== 'person' && (after === 'person' || (after === 'superadmin' && before !== 'superadmin'))
}

/** Origin of a link, and of a password that is set with it. @param mailed false: the caller receives the link, to pass it on */
export function linkOrigin(caller: Pick<Caller, 'role' | 'userId'>, mailed: boolean): LinkOrigin {
  if (mailed) return MAILED
  return { from: isSuperadmin(caller) ? 'superadmin' : 'unknown', inHandOf: caller.userId }
}

/** Person who counts as the chooser of a password that somebody else sets. */
export function passwordSetBy({ role }: Pick<Caller, 'role'>): PasswordFrom {
  return role === 'superadmin' ? 'superadmin' : 'administrator'
}

/**
 * Origin of a password that replaces this one. Whoever knew the old one may have chosen the new one too, so after a password that an admin
 * of the domain may have known, the new one is also doubtful. If a superadmin may have known the old one, the choice ends the doubt,
 * because without mail the person has no other way; the person is informed (ADR 75).
 */
export function nextPasswordFrom(before: PasswordFrom): PasswordFrom {
  return before === 'person' || before === 'superadmin' ? 'person' : 'unknown'
}

/**
 * Refuses to keep a password that somebody else has chosen: only superadmins may do this, for accounts of programs. All other passwords
 * chosen by somebody else must be replaced at the next sign-in. @throws AppError `forbidden`
 */
export function requireMayLetStay(caller: Pick<Caller, 'role'>): void {
  if (!isSuperadmin(caller)) throw new AppError('forbidden', because('only_superadmin_keeps_password'))
}

/**
 * Whether a keypair may be activated: only by its owner, and only after the owner has accepted it, because only the owner gets its secret.
 * A program that signs with another keypair may not accept one: that decision needs a person.
 */
export function mayActivateKeypair(caller: Pick<Caller, 'userId'>, owner: Pick<Account, 'id'>): boolean {
  return caller.userId === owner.id
}

/**
 * Whether a session gets the private things of its owner: dotfiles, folders with a leading dot, automatically mounted folders, the start-up
 * script, and the private key for other sessions. Whoever starts a session chooses its command and may read its log, so a session that
 * somebody else started gets none of these until its owner starts it again.
 *
 * @param starterId who launched the session, or started it again last
 */
export function takesOwnThings({
  starterId,
  ownerId,
}: {
  readonly starterId: UserId
  readonly ownerId: UserId
}): boolean {
  return starterId === ownerId
}
