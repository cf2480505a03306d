import { AppError, because, type LinkPurpose, type SentLink, type UserId } from '#manager/contract'
import { type Mailer } from '../mail/mailer.ts'
import { passwordSetMail, resetMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import {
  deleteEmailTokens,
  findEmailToken,
  insertEmailToken,
  type LinkOrigin,
  MAILED,
  takeEmailToken,
} from '../store/identity/email-tokens.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { findUser, findUserByEmail, holdUser, lockUser, updateUser, type UserRow } from '../store/identity/users.ts'
import { endsDoubt, requireAnother, requireManaged } from './acting-for.ts'
import { afterCommitOf } from './after-commit.ts'
import { type Caller } from './authorize.ts'
import { forgetAccountFailures } from './back-off.ts'
import { endAccess } from './end-access.ts'
import { endDoubt } from './end-of-doubt.ts'
import { linkTo } from './links.ts'
import { deliveryOf, sendLink } from './links-for-others.ts'
import { type Logins } from './logins.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { checkPassword, type Passwords, personAsking } from './passwords.ts'
import { hashToken, newToken } from './secrets.ts'
import { newsOfOwn, type AccountNotifier } from './account-notifier.ts'
import { inBackground, limitMails, linkInvalid, VERIFY_SECONDS } from './sign-up.ts'

const RESET_SECONDS = 30 * 60

/**
 * Resets of forgotten passwords, and links that an admin creates for people. Threat model: as for signing up: no reply reveals whether an
 * account exists. A link works once, for half an hour, and only its hash is stored. Using it ends every sign-in with all tunnels, and every
 * other link of the account; the second factor stays.
 */
export interface PasswordResets {
  /** @throws AppError `mail_not_configured`, `rate_limited` */
  request(request: { email: string; address: string }): Promise<void>
  /** @returns the account. @throws AppError `link_invalid`, `weak_password`, `password_unchanged` */
  reset(request: { token: string; password: string }): Promise<UserRow>
  /**
   * Creates a link for another person, who is informed: mailed, or in the answer if no mail reaches the person.
   *
   * @param request `origin`: address at which the admin uses the console; `inHand`: not by mail
   * @throws AppError `user_not_found`, `bad_request` (nothing to verify), `forbidden` (inactive, oneself, or not mailed although mail
   *   reaches the person)
   */
  createLink(
    caller: Caller,
    request: { userId: UserId; purpose: LinkPurpose; origin: string; inHand?: boolean },
  ): Promise<SentLink>
}

export interface PasswordResetDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly logins: Logins
  readonly settings: Settings
  readonly mailer: Mailer
  readonly notifier: AccountNotifier
}

export function createPasswordResets(deps: PasswordResetDeps): PasswordResets {
  const { store, passwords, logins, settings, mailer, notifier } = deps
  const { db } = store

  async function makeToken(trx: Db, user: UserRow, purpose: LinkPurpose, origin: LinkOrigin) {
    const token = newToken()
    const expiresAt = await insertEmailToken(trx, {
      hash: hashToken(token),
      userId: user.id,
      purpose,
      origin,
      lifetimeSeconds: purpose === 'verify' ? VERIFY_SECONDS : RESET_SECONDS,
    })
    return expiresAt && { token, expiresAt }
  }

  return {
    async request({ email, address }) {
      const mayMail = await limitMails(store, 'password', { email, address })
      const { publicUrl, mailReady } = await settings.read()
      if (!mailReady || publicUrl === null) throw new AppError('mail_not_configured', because('ask_admin_for_link'))
      if (!mayMail) return
      inBackground(async () => {
        const user = await findUserByEmail(db, email.trim())
        const made = user?.active ? await makeToken(db, user, 'reset', MAILED) : undefined
        if (user && made) mailer.post(resetMail(user.email, linkTo(publicUrl, 'reset-password', { token: made.token })))
      })
    },

    async reset({ token, password }) {
      checkPassword(password)
      const hash = hashToken(token)
      const link = await findEmailToken(db, hash, 'reset')
      const user = link && (await findUser(db, link.user_id))
      if (!link || !user?.active) throw linkInvalid()
      if (await passwords.verify(user.password_hash, password, personAsking(user.id))) {
        throw new AppError('password_unchanged', because('choose_other_password_or_sign_in'))
      }
      const password_hash = await passwords.hash(password, personAsking(user.id))
      const afterCommit = await store.transaction(async trx => {
        const held = await lockUser(trx, user.id)
        if (!held?.active || !(await takeEmailToken(trx, hash, user.id))) throw linkInvalid()
        // Either the owner of the address got the link by mail, or an admin handed it over: the address is confirmed.
        const email_verified_at = held.email_verified_at ?? new Date(store.now())
        const chosen = { password_hash, password_from: link.password_from, must_change_password: false }
        const handed = link.password_from !== 'person'
        const changed = (await updateUser(trx, user.id, { ...chosen, email_verified_at, handed })) ?? held
        const ended = await endAccess(trx, held)
        const news = handed ? [newsOfOwn(held, 'own_link_used')] : []
        await notifier.write(trx, news)
        const isOver = endsDoubt(held.password_from, link.password_from)
        return afterCommitOf({ ended, news }, isOver ? await endDoubt(trx, notifier, held, changed) : undefined)
      })
      await logins.settle(user.id, afterCommit)
      await forgetAccountFailures(store, user.email)
      if ((await settings.read()).mailReady) mailer.post(passwordSetMail(user.email))
      return user
    },

    async createLink(caller, { userId, purpose, origin, inHand = false }) {
      const system = await settings.read()
      const news = purpose === 'reset' ? ([{ userId, by: caller, kind: 'password_link' }] as const) : []
      const made = await store.transaction(async trx => {
        const user = requireManaged(caller, await holdUser(trx, userId))
        await requireStillSignedIn(trx, caller)
        requireAnother(caller, userId, 'make_link')
        if (!user.active) throw new AppError('forbidden', because('account_not_active', { email: user.email }))
        if (purpose === 'verify' && user.email_verified_at !== null) {
          throw new AppError('bad_request', because('address_confirmed', { email: user.email }))
        }
        const delivery = deliveryOf(caller, user, system, { origin, inHand })
        await notifier.write(trx, news)
        const first = await makeToken(trx, user, purpose, delivery.origin)
        if (first) return { ...first, delivery, email: user.email }
        // Strangers may have requested the maximum number of links: delete them, so that the admin gets one.
        await deleteEmailTokens(trx, user.id)
        const again = await makeToken(trx, user, purpose, delivery.origin)
        if (!again) throw new AppError('unavailable', because('try_again'))
        return { ...again, delivery, email: user.email }
      })
      await notifier.announce(news)
      return sendLink(mailer, made.delivery, { ...made, purpose })
    },
  }
}
