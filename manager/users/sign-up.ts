import {
  AppError,
  because,
  isAppError,
  type SignUpReply,
  type SignUpSpec,
  type SystemSettings,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { alreadyMail, verifyMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { findDomain } from '../store/identity/domains.ts'
import { findEmailToken, insertEmailToken, MAILED, takeEmailToken } from '../store/identity/email-tokens.ts'
import { holdInvitation, markInvitationUsed, wasInvited } from '../store/identity/invitations.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { findUser, findUserByEmail, lockUser, updateUser, type UserRow } from '../store/identity/users.ts'
import { insertAccount } from './accounts.ts'
import { addressCounts, isWithinLimit, limitRequests, withBackOff } from './back-off.ts'
import { linkTo } from './links.ts'
import { type Passwords, personAsking, strangerAt } from './passwords.ts'
import { hashToken, newToken } from './secrets.ts'
import { requireAgreement, requireMailDomain } from './sign-up-rules.ts'

export const VERIFY_SECONDS = 24 * 3600
const SIGN_UPS_FROM = 10
const MAILS_OF_ADDRESS_FROM = 10
const MAILS_TO_ACCOUNT_FROM = 4

/**
 * Signing up.
 *
 * Threat model: everybody on the network may sign up. Neither a reply nor its duration reveals whether an address has an account: only its
 * owner learns it, by mail. A stranger who signs up with somebody else's address gains nothing: the link goes to the owner and works only
 * together with the password of that sign-up, and until then nobody can sign in. If no mail confirms the address, the password counts as
 * one that others may know (ADR 59). The number of requests is limited per network address and per e-mail address.
 */
export interface SignUps {
  /** @throws AppError `sign_up_closed`, `invitation_invalid`, `weak_password`, `bad_request` (terms), `rate_limited` */
  signUp(spec: SignUpSpec, address: string): Promise<SignUpReply>
  /** @throws AppError `mail_not_configured`, `rate_limited` */
  requestVerification(request: { email: string; address: string }): Promise<void>
  /** @returns the account that signs in. @throws AppError `link_invalid`, `login_failed`, `login_throttled` */
  verify(request: { token: string; password: string; address: string }): Promise<UserRow>
}

export interface SignUpDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventPublisher
}

export function createSignUps({ store, passwords, settings, mailer, events }: SignUpDeps): SignUps {
  const { db } = store

  return {
    async signUp(spec, address) {
      const current = await settings.read()
      checkTerms(current, spec)
      await limitRequests(store, addressCounts('sign-up', address, SIGN_UPS_FROM))
      const password_hash = await passwords.hash(spec.password, strangerAt(address, spec.email))
      const { user, isNew, token } = await store.transaction(trx => enter(trx, spec, current, password_hash))
      if (isNew) {
        events.publish({ topic: 'user', id: user.id, version: user.version }, 'superadmins')
      }
      const { publicUrl, mailReady } = current
      if (mailReady && publicUrl !== null) {
        if (token !== undefined) mailer.post(verifyMail(user.email, linkTo(publicUrl, 'verify', { token })))
        else if (!isNew && user.active) mailer.post(alreadyMail(user.email, publicUrl))
      }
      if (!isUnconfirmed(current, spec.invitation)) return { next: 'sign_in' }
      return { next: mailReady ? 'verify_email' : 'ask_admin' }
    },

    async requestVerification({ email, address }) {
      const mayMail = await limitMails(store, 'confirmation', { email, address })
      const { publicUrl, mailReady } = await settings.read()
      if (!mailReady || publicUrl === null) throw new AppError('mail_not_configured', because('ask_admin_for_link'))
      if (!mayMail) return
      inBackground(async () => {
        const user = await findUserByEmail(db, email)
        if (!user?.active || user.email_verified_at !== null) return
        const token = newToken()
        const made = await insertEmailToken(db, {
          hash: hashToken(token),
          userId: user.id,
          purpose: 'verify',
          origin: MAILED,
          lifetimeSeconds: VERIFY_SECONDS,
        })
        if (made) mailer.post(verifyMail(user.email, linkTo(publicUrl, 'verify', { token })))
      })
    },

    async verify({ token, password, address }) {
      const hash = hashToken(token)
      const link = await findEmailToken(db, hash, 'verify')
      const user = link && (await findUser(db, link.user_id))
      if (!link || !user?.active) throw linkInvalid()
      const password_hash = link.password_hash ?? user.password_hash
      const good = await withBackOff(store, { email: user.email, address }, () =>
        passwords.verify(password_hash, password, personAsking(user.id)),
      )
      if (!good) throw new AppError('login_failed', because('password_of_sign_up'))
      const verified = await store.transaction(async trx => {
        const held = await lockUser(trx, user.id)
        if (!held?.active || !(await takeEmailToken(trx, hash, user.id))) throw linkInvalid()
        // A password of an earlier request may be that of another holder of the invitation, and a link without its own password does not
        // show whose it is.
        const isEarlier = link.password_hash === null && (await wasInvited(trx, user.id))
        const isOwn = held.password_from === 'unknown' && link.password_from === 'person' && !isEarlier
        const password_from = isOwn ? 'person' : held.password_from
        const email_verified_at = new Date(store.now())
        const handed = password_from !== 'person'
        return updateUser(trx, user.id, { password_hash, password_from, email_verified_at, handed })
      })
      if (verified) events.publish({ topic: 'user', id: user.id, version: verified.version }, { userId: user.id })
      return user
    },
  }
}

type MailPurpose = 'confirmation' | 'password' | 'sign-up-request'

/**
 * Limits mails to an address that a stranger may have entered. A network address with too many requests is refused. Mails beyond the limit
 * of one account are silently dropped instead: a refusal would let strangers lock out its owner, who still has the links in earlier mails,
 * which stay valid for longer than the wait. Each purpose has its own count, even if nothing is sent: requesting one kind of mail does not
 * block another kind.
 *
 * @returns whether a mail may be sent
 * @throws AppError `rate_limited`
 */
export async function limitMails(
  store: Store,
  purpose: MailPurpose,
  { email, address }: { readonly email: string; readonly address: string },
): Promise<boolean> {
  await limitRequests(store, addressCounts('mail-from', address, MAILS_OF_ADDRESS_FROM))
  return isWithinLimit(store, { key: `mail-to:${purpose}:${email.trim().toLowerCase()}`, from: MAILS_TO_ACCOUNT_FROM })
}

/** Starts work and does not wait: the time of the reply must not depend on the result. If the database fails, no mail is sent. */
export function inBackground(work: () => Promise<void>): void {
  work().catch(() => undefined)
}

export function linkInvalid(): AppError {
  return new AppError('link_invalid', because('ask_for_new_link'))
}

/**
 * Whether the owner of the address has not confirmed it yet. If no mail can be sent, an invitation from an admin is enough: nobody else
 * could vouch for the address.
 */
function isUnconfirmed(
  { requireEmailVerification, mailReady }: Pick<SystemSettings, 'requireEmailVerification' | 'mailReady'>,
  invitation: unknown,
): boolean {
  return requireEmailVerification && (mailReady || invitation === undefined)
}

function checkTerms(settings: SystemSettings, spec: SignUpSpec): void {
  const { allowSignUp } = settings
  if (allowSignUp === 'off') throw new AppError('sign_up_closed', because('ask_admin_for_account'))
  if (spec.invitation === undefined) {
    if (allowSignUp === 'invitation') throw new AppError('invitation_invalid', because('invitation_needed'))
    if (allowSignUp === 'request') throw new AppError('invitation_invalid', because('sign_up_request_instead'))
    requireMailDomain(settings, spec.email)
  }
  requireAgreement(settings, spec.acceptTerms)
}

/**
 * Finds or creates the account, and creates the token of the link to be mailed. A confirmed account is not changed, and only a new account
 * consumes an invitation.
 */
async function enter(
  trx: Db,
  { email, name, invitation: invitationToken }: SignUpSpec,
  { signUpDomain, requireEmailVerification, mailReady }: SystemSettings,
  password_hash: string,
): Promise<{ user: UserRow; isNew: boolean; token?: string }> {
  const invitation = invitationToken === undefined ? undefined : await holdInvitation(trx, hashToken(invitationToken))
  if (invitationToken !== undefined && !invitation) {
    throw new AppError('invitation_invalid', because('ask_for_new_invitation'))
  }
  const domain = invitation?.domain ?? signUpDomain
  if (!(await findDomain(trx, domain))?.active) {
    throw new AppError('sign_up_closed', because('domain_deactivated_sign_up', { domain }))
  }
  const unconfirmed = isUnconfirmed({ requireEmailVerification, mailReady }, invitation)
    ? { email_verified_at: null }
    : {}
  // Anybody with an invitation may sign up with somebody else's address, including an admin of the domain.
  const password = { password_hash, password_from: 'unknown' } as const
  const account = { email, name, domain, role: 'user', ...password, ...unconfirmed } as const
  const made = await insertAccount(trx, account).catch((error: unknown) => {
    if (isAppError(error) && error.code === 'user_exists') return undefined
    throw error
  })
  if (made && invitation) await markInvitationUsed(trx, invitation.id, made.id)
  const user = made ?? (await findUserByEmail(trx, email))
  if (!user) throw new AppError('unavailable', because('try_again'))
  const isNew = made !== undefined
  if (!mailReady || !user.active || user.email_verified_at !== null) return { user, isNew }
  const token = newToken()
  const kept = await insertEmailToken(trx, {
    hash: hashToken(token),
    userId: user.id,
    purpose: 'verify',
    passwordHash: password_hash,
    origin: MAILED,
    lifetimeSeconds: VERIFY_SECONDS,
  })
  return kept ? { user, isNew, token } : { user, isNew }
}
