import { AppError, because, type PasswordFrom, Role, type UserId } from '#manager/contract'
import { type LinkOrigin, MAILED } from '../store/identity/email-tokens.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Account, type Caller, isSuperadmin, managesAccount } from './authorize.ts'

/**
 * Rights of one person about another's account, and what they give the first one: the rule of ADR 59. An administrator manages
 * people and never becomes them. Every verb that one person does about another asks here; who is told is in `account-notifier.ts`.
 *
 * Threat model: an administrator who wants to work as somebody else unnoticed. No secret of another person passes through an
 * administrator's hands where there is another way. Where there is none (a link or a first password without mail), using it ends
 * the person's own password, so that the person notices, and a second factor still holds.
 */

/**
 * Deeds that the own account has another way for, with the way. A browser that was left signed in, or a stolen keypair, must not be
 * enough to take over the account: what gives another way in asks for the password again, or for a sign-in of the last minutes
 * (`provePerson`), and takes no keypair. Ending sign-ins gives none.
 */
const OWN_WAYS = {
  make_keypair: 'POST /api/v1/keypairs, signed in as yourself',
  set_password: 'POST /api/v1/me/password, with the old password',
  make_link: 'POST /api/v1/me/password, with the old password',
  end_sign_ins: 'DELETE /api/v1/me/logins',
  reset_second_factor: 'POST /api/v1/me/totp/disable, with password and code',
} as const
export type DeedWithOwnWay = keyof typeof OWN_WAYS

/** Refuses a person whom the caller does not manage, exactly as one who does not exist. @throws AppError `user_not_found` */
export function requireManaged<T extends Account>(caller: Caller, person: T | undefined): T {
  if (!person || !managesAccount(caller, person)) throw new AppError('user_not_found')
  return person
}

/** Refuses an administrator's way for the caller's own account. @throws AppError `forbidden` */
export function requireAnother(caller: Pick<Caller, 'userId'>, userId: UserId, deed: DeedWithOwnWay): void {
  if (caller.userId !== userId) return
  throw new AppError('forbidden', because('own_account_elsewhere', { request: OWN_WAYS[deed] }))
}

/** Whether mail reaches the person: `localhost` is the domain of accounts without an address. */
export function isReachable(
  { email }: Pick<UserRow, 'email'>,
  { mailReady }: { readonly mailReady: boolean },
): boolean {
  return mailReady && !email.endsWith('@localhost')
}

/**
 * Whether a link or a first password of another person may pass through the caller's hands. Where mail reaches the person it goes
 * there. Superadmins keep the way for people who have lost their mailbox, and the person is told.
 */
export function mayHoldSecret(caller: Pick<Caller, 'role'>, isReached: boolean): boolean {
  return !isReached || isSuperadmin(caller)
}

/** Refuses a password that somebody else chooses where a link by mail does the same. @throws AppError `forbidden` */
export function requireMaySetPassword(
  caller: Pick<Caller, 'role'>,
  person: Pick<UserRow, 'email'>,
  system: LinkDelivery,
): void {
  if (!mayHoldSecret(caller, isReachedByLink(person, system))) {
    throw new AppError('forbidden', because('mail_brings_link'))
  }
}

/** Whether the person gets a link for another password by mail. */
function isReachedByLink(person: Pick<UserRow, 'email'>, { mailReady, publicUrl }: LinkDelivery): boolean {
  return isReachable(person, { mailReady: mailReady && publicUrl !== null })
}

/** Settings that a mailed link needs. */
export interface LinkDelivery {
  readonly mailReady: boolean
  readonly publicUrl: string | null
}

/**
 * Refuses a second factor that somebody else may be switching on: it would keep the person out past the mailed link that ends the doubt
 * about the password. Without mail there is no such link, and the person has nothing better.
 *
 * @throws AppError `forbidden`
 */
export function requireOwnPassword(
  person: Pick<UserRow, 'email' | 'password_set' | 'password_from'>,
  system: LinkDelivery,
): void {
  if (!othersMayKnowPassword(person) || !isReachedByLink(person, system)) return
  throw new AppError('forbidden', because('own_password_before_factor'))
}

type Authority = Pick<UserRow, 'role' | 'domain'>
/** Position of a role in the list: each role may do more than the one before. */
const rank = (role: Role) => Role.options.indexOf(role)

/** Whether a change gives the account more, or to other administrators, so that what others knew or made of it ends. */
export function endsWhatOthersKnew(before: Authority, after: Authority): boolean {
  return rank(after.role) > rank(before.role) || after.domain !== before.domain
}

/** Whether somebody else may know the password. Nobody knows one of an account that signs in at a provider alone. */
export function othersMayKnowPassword(person: Pick<UserRow, 'password_set' | 'password_from'>): boolean {
  return person.password_set && person.password_from !== 'person'
}

/**
 * Whether a password ends the doubt about the one before it. The hand of a superadmin (a password, or a link to pass on) ends the doubt
 * about admins of the domain and begins one of its own.
 */
export function endsDoubt(before: PasswordFrom, after: PasswordFrom): boolean {
  return before !== 'person' && (after === 'person' || (after === 'superadmin' && before !== 'superadmin'))
}

/** Origin of a link, and of a password that is set with it. @param mailed false: the link is in the hand of the caller, to pass on */
export function linkOrigin(caller: Pick<Caller, 'role' | 'userId'>, mailed: boolean): LinkOrigin {
  if (mailed) return MAILED
  return { from: isSuperadmin(caller) ? 'superadmin' : 'unknown', inHandOf: caller.userId }
}

/** Person who counts as the chooser of a password that somebody else sets. */
export function passwordSetBy({ role }: Pick<Caller, 'role'>): PasswordFrom {
  return role === 'superadmin' ? 'superadmin' : 'administrator'
}

/**
 * Origin of a password that replaces this one. Whoever knew the old one may have chosen the new one too, so one that an admin
 * of the domain may have known stays doubtful. Without mail, nothing else of a person than such a choice ends the doubt about a
 * superadmin, so it does, and is told (ADR 75).
 */
export function nextPasswordFrom(before: PasswordFrom): PasswordFrom {
  return before === 'person' || before === 'superadmin' ? 'person' : 'unknown'
}

/**
 * Refuses that a password stays which somebody else has chosen: only superadmins let one stay, for accounts of programs. Everybody
 * else's choice is replaced at the next sign-in.
 *
 * @throws AppError `forbidden`
 */
export function requireMayLetStay(caller: Pick<Caller, 'role'>): void {
  if (!isSuperadmin(caller)) throw new AppError('forbidden', because('only_superadmin_keeps_password'))
}

/**
 * Whether a keypair may be activated: by its owner alone, and not before the owner has accepted it, because only the owner gets
 * its secret. A program that signs with another keypair accepts none: that is a decision of the person.
 */
export function mayActivateKeypair(caller: Pick<Caller, 'userId'>, owner: Pick<Account, 'id'>): boolean {
  return caller.userId === owner.id
}

/**
 * Whether a session takes along what is its owner's alone: dotfiles, folders with a dot, folders that are mounted by themselves, the
 * start-up script, and the private key for other sessions. Whoever starts a session chooses its command and may read its log, so a
 * session that somebody else started has none of them until its owner starts it again.
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
