import {
  type AcceptedSignUp,
  AppError,
  because,
  type SignUpAcceptance,
  type SignUpRequest,
  type SignUpRequestReply,
  type SignUpRequestSpec,
  type SystemSettings,
} from '#manager/contract'
import { z } from 'zod'
import { type Audience, type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { acceptedMail, alreadyMail, confirmRequestMail, declinedMail, requestWaitsMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { findDomain } from '../store/identity/domains.ts'
import {
  confirmSignUpRequest,
  countWaiting,
  insertSignUpRequest,
  isWaiting,
  listWaiting,
  type SignUpRequestRow,
  takeSignUpRequest,
  trimUnconfirmed,
  trimUnconfirmedOf,
} from '../store/identity/sign-up-requests.ts'
import { findUserByEmail, listAdminAddresses } from '../store/identity/users.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { insertAccountWithLink, passwordLink } from './account-with-link.ts'
import { type Caller, isSuperadmin, requireMayAssign, requireMayGivePolicy } from './authorize.ts'
import { addressCounts, isWithinLimit, limitRequests } from './back-off.ts'
import { linkTo } from './links.ts'
import { deliveryOf } from './links-for-others.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { type Passwords, personAsking } from './passwords.ts'
import { hashToken, newPassword, newToken } from './secrets.ts'
import { requireAgreement, requireMailDomain } from './sign-up-rules.ts'
import { inBackground, limitMails, linkInvalid } from './sign-up.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { toUser } from './to-user.ts'

const CONFIRM_SECONDS = 24 * 3600
const WAIT_SECONDS = 30 * 24 * 3600
const REQUESTS_FROM = 5
/** Most unconfirmed requests of one address: each has its own link, so that a stranger's request does not replace the owner's. */
const UNCONFIRMED_OF_ADDRESS = 3
const UNCONFIRMED = 1_000
const WAITING = 500
/** Most administrators of a domain who get a mail about a new request. */
const TOLD_ADMINS = 20

/**
 * Requests of strangers for an account, about which an admin decides.
 *
 * Threat model: everybody on the network may send requests if a superadmin has set `allowSignUp` to `request`.
 * - No reply, and no time that a reply takes, tells whether an address has an account or a request: the work is done after the reply, and
 *   the owner of the address alone learns the result, by mail.
 * - Where mail is set up, a request reaches the admins only after the owner of the address has opened a mailed link; so strangers cannot
 *   ask in the name of others. Without mail the list says that the address is not confirmed.
 * - A request gives no right: the account is made when an admin accepts, its password is set with a link of its own.
 * - Requests are limited per network address, mails per e-mail address and mails to admins per domain. The table is bounded: unconfirmed
 *   requests push out the oldest ones; when the list of waiting requests is full, everybody is refused alike.
 * - Name and note are what a stranger typed: they are shown to admins as plain text and are in no mail.
 */
export interface SignUpRequests {
  /** @throws AppError `sign_up_closed`, `bad_request` (terms, domain of the address), `rate_limited` */
  request(spec: SignUpRequestSpec, address: string): Promise<SignUpRequestReply>
  /** @throws AppError `link_invalid`, `sign_up_closed`, `rate_limited` */
  confirm(request: { token: string; address: string }): Promise<void>
  list(
    caller: Caller,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ items: SignUpRequest[]; nextCursor: string | null; total: number }>
  /**
   * @param origin address at which the admin uses the console, for the link
   * @throws AppError `sign_up_request_not_found`, `user_exists`, `forbidden`, `domain_not_found`, `group_not_found`
   */
  accept(caller: Caller, id: string, as: SignUpAcceptance, origin: string): Promise<AcceptedSignUp>
  /** @returns the address of the person, and whether a mail was sent. @throws AppError `sign_up_request_not_found` */
  decline(caller: Caller, id: string, reason: string): Promise<{ email: string; mailed: boolean }>
}

export interface SignUpRequestDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventPublisher
  readonly notifier: AccountNotifier
}

export function createSignUpRequests(deps: SignUpRequestDeps): SignUpRequests {
  const { store, passwords, settings, mailer, events, notifier } = deps
  const { db } = store
  const seen = (caller: Caller) => (isSuperadmin(caller) ? undefined : caller.domain)
  const announce = (id: string, domain: string, more: Partial<Exclude<Audience, string>> = {}) =>
    events.publish({ topic: 'user', id, version: 1 }, { domain, ...more })

  /** Informs the admins, in the console and by mail; only some mails are sent while many people send requests. */
  async function tellAdmins(row: Pick<SignUpRequestRow, 'id' | 'email' | 'domain'>, current: SystemSettings) {
    announce(row.id, row.domain)
    const { publicUrl, mailReady } = current
    if (!mailReady || publicUrl === null) return
    if (!(await isWithinLimit(store, { key: `sign-up-notice:${row.domain}`, from: 1 }))) return
    const url = `${publicUrl}/#/admin/invitations`
    for (const to of await listAdminAddresses(db, row.domain, TOLD_ADMINS)) {
      mailer.post(requestWaitsMail(to, { email: row.email, url }))
    }
  }

  async function enter({ name, note, ...spec }: SignUpRequestSpec, current: SystemSettings): Promise<void> {
    const email = spec.email.toLowerCase()
    const { publicUrl, mailReady, signUpDomain: domain } = current
    const withMail = mailReady && publicUrl !== null
    const user = await findUserByEmail(db, email)
    if (user) {
      if (withMail && user.active) mailer.post(alreadyMail(user.email, publicUrl))
      return
    }
    const token = newToken()
    const row = { id: newUuid(), email, name, note, domain }
    const entered = await store.transaction(async trx => {
      if (await isWaiting(trx, email)) return false
      await trimUnconfirmedOf(trx, email, UNCONFIRMED_OF_ADDRESS - 1)
      await trimUnconfirmed(trx, UNCONFIRMED - 1)
      return insertSignUpRequest(trx, {
        ...row,
        ...(withMail ? { tokenHash: hashToken(token) } : {}),
        lifetimeSeconds: withMail ? CONFIRM_SECONDS : WAIT_SECONDS,
      })
    })
    if (!entered) return
    if (withMail) mailer.post(confirmRequestMail(email, linkTo(publicUrl, 'sign-up', { request: token })))
    else await tellAdmins(row, current)
  }

  /** @throws AppError `sign_up_closed` if nobody may send requests now */
  async function requireOpen({ allowSignUp, signUpDomain: domain }: SystemSettings): Promise<void> {
    if (allowSignUp !== 'request') throw new AppError('sign_up_closed', because('ask_admin_for_account'))
    if (!(await findDomain(db, domain))?.active) {
      throw new AppError('sign_up_closed', because('domain_deactivated_sign_up', { domain }))
    }
    if ((await countWaiting(db)) >= WAITING) throw new AppError('sign_up_closed', because('sign_up_list_full'))
  }

  return {
    async request(spec, address) {
      const current = await settings.read()
      await requireOpen(current)
      requireAgreement(current, spec.acceptTerms)
      requireMailDomain(current, spec.email)
      await limitRequests(store, addressCounts('sign-up-request', address, REQUESTS_FROM))
      const mayMail = await limitMails(store, 'sign-up-request', { email: spec.email, address })
      if (mayMail) inBackground(() => enter(spec, current))
      return { next: current.mailReady ? 'confirm_email' : 'wait' }
    },

    async confirm({ token, address }) {
      const current = await settings.read()
      await requireOpen(current)
      await limitRequests(store, addressCounts('sign-up-confirm', address, REQUESTS_FROM))
      const row = await store.transaction(trx => confirmSignUpRequest(trx, hashToken(token), WAIT_SECONDS))
      if (!row) throw linkInvalid()
      await tellAdmins(row, current)
    },

    async list(caller, { limit, cursor }) {
      const domain = seen(caller)
      const after = cursor === undefined ? undefined : parseCursor(cursor)
      const [rows, total] = await Promise.all([
        listWaiting(db, { domain, limit: limit + 1, after }),
        countWaiting(db, domain),
      ])
      const items = rows.slice(0, limit).map(toSignUpRequest)
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total }
    },

    async accept(caller, id, as, origin) {
      // The password is discarded: the owner sets one with the link.
      const password_hash = await passwords.hash(newPassword(), personAsking(caller.userId))
      const system = await settings.read()
      const made = await store.transaction(async trx => {
        await requireStillSignedIn(trx, caller)
        const request = await takeSignUpRequest(trx, id, seen(caller))
        if (!request) throw notFound()
        const { email, name } = request
        const { domain = request.domain, groups, resourcePolicy } = as
        requireMayAssign(caller, { role: 'user', domain, active: true })
        requireMayGivePolicy(caller, resourcePolicy)
        const delivery = deliveryOf(caller, { email }, system, { origin })
        const account = {
          email,
          name,
          role: 'user',
          domain,
          groups,
          resourcePolicy,
          password_hash,
          origin: delivery.origin,
        } as const
        const made = await insertAccountWithLink(trx, account)
        const news = [{ userId: made.user.id, by: caller, kind: 'account_made' }] as const
        await notifier.write(trx, news)
        return { ...made, delivery, news }
      })
      const { user, delivery, news } = made
      announce(user.id, user.domain, { userId: user.id })
      const link = passwordLink(delivery.base, made)
      if (delivery.mailed) mailer.post(acceptedMail(user.email, { by: caller.email, url: link.url }))
      else await notifier.announce(news)
      return { user: await toUser(db, user), link: delivery.mailed ? null : link }
    },

    async decline(caller, id, reason) {
      const row = await takeSignUpRequest(db, id, seen(caller))
      if (!row) throw notFound()
      announce(row.id, row.domain)
      const { mailReady: mailed } = await settings.read()
      if (mailed) mailer.post(declinedMail(row.email, reason))
      return { email: row.email, mailed }
    },
  }
}

function notFound(): AppError {
  return new AppError('sign_up_request_not_found', because('sign_up_request_gone'))
}

function toSignUpRequest(row: SignUpRequestRow): SignUpRequest {
  const { id, email, name, note, domain, confirmed } = row
  return {
    ...{ id, email, name, note, domain, confirmed },
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }
}

function parseCursor(cursor: string): string {
  const parsed = z.uuid().safeParse(cursor)
  if (parsed.success) return parsed.data
  throw new AppError('bad_request', because('cursor_wrong'))
}
