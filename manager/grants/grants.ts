import { randomBytes } from 'node:crypto'
import {
  AppError,
  because,
  type AppOptions,
  type Grant,
  type PublishedAppId,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Log } from '../log.ts'
import { findTunnelApp } from '../images/apps.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { type SessionMembers } from '../sessions/members.ts'
import { requireEnterable, requireVisible } from '../sessions/require-session.ts'
import { requireWeb } from './require-web-app.ts'
import { readAppOfToken } from '../store/identity/access-tokens.ts'
import {
  deleteGrantsOfSession,
  extendGrant,
  findValidGrant,
  insertGrant,
  type NewGrant,
  type ValidGrant,
} from '../store/sessions/grants.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { touchLoginOfGrant } from '../store/identity/logins.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { findSession, ownedOf } from '../store/sessions/sessions.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller, canEnter, tokenOf } from '../users/authorize.ts'
import { hashToken } from '../users/secrets.ts'

/**
 * Rights to open tunnels to one app of one session. Threat model: a grant is a bearer credential that lives in the local proxy of its user,
 * travels in a header (never in a URL) and is stored here only as a hash. It is valid for five minutes, for one (sign-in, keypair or
 * published app, user, session, app), and can be renewed only while these are valid. Signing out, deactivating the keypair, withdrawing the
 * published app, or the end of the session ends it within CACHE_MS. Renewing counts as a use of the sign-in, which stays valid up to its
 * absolute end. Only the owner of a session, and members whom the owner lets use it, can obtain a grant, which ends with that right. The
 * console obtains grants for their browsers on other computers, and for the visitors of an app that the owner has published.
 */
export interface Grants extends AsyncDisposable {
  /** Starts an app with the user's options; an app that runs with others is restarted. @throws those of `create`, `app_option_refused` */
  startApp(
    caller: Caller,
    target: { readonly id: SessionId; readonly app: string },
    how: { readonly options: AppOptions; readonly signal?: AbortSignal },
  ): Promise<void>
  /**
   * Creates a grant, and starts the app if needed.
   * @throws `session_not_found`, `session_not_running`, `app_not_found`, `app_failed`, `port_silent`,
   *   `agent_unreachable`, `forbidden`, `not_signed_in` (ended meanwhile)
   */
  create(caller: Caller, sessionId: SessionId, app: string, signal?: AbortSignal): Promise<Grant>
  /**
   * Creates a grant for a program with an access token: for a web app of a session that the token launched, or for the one app that the token
   * was made for.
   * @throws those of `create`, `bad_request` (no web app)
   */
  createForProgram(caller: Caller, sessionId: SessionId, app: string, signal?: AbortSignal): Promise<Grant>
  /**
   * Creates a grant for clients that the console has admitted: visitors of a published app, or a browser of a sign-in. The caller has
   * checked the rights.
   * @throws those of `create`, `published_app_not_found`
   */
  createFor(
    holder: { readonly userId: UserId } & ({ readonly publishedApp: PublishedAppId } | { readonly loginId: string }),
    target: { readonly sessionId: SessionId; readonly app: string },
    signal?: AbortSignal,
  ): Promise<Grant>
  /** @throws `grant_invalid` */
  renew(grant: string): Promise<Grant>
  /** Verifies a grant, usually from memory, because this runs for every tunnel connection. @throws `grant_invalid` */
  verify(grant: string, sessionId: SessionId, app: string): Promise<ValidGrant>
  /** Drops the cached grants of a sign-in or a keypair that has ended. */
  forgetLogin(loginId: string): void
}

export interface GrantsDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly changes: SessionChanges
  readonly members: Pick<SessionMembers, 'onChanged'>
  readonly log: Log
  readonly now?: () => number
}

const LIFETIME_MS = 5 * 60_000
const CACHE_MS = 5_000
const START_APP_TIMEOUT_MS = 60_000
const PURGE_EVERY_MS = 10 * 60_000

export function startGrants({ store, agents, changes, members, log, now = store.now }: GrantsDeps): Grants {
  const verified = new Map<string, { grant: ValidGrant; until: number }>()
  /** Secrets of apps, which must not be stored in the database; fetched again after a restart. */
  const injections = new Map<string, { readonly inject: Grant['inject']; readonly expiresAt: Date }>()

  /** Counts drops, so that a database answer that was in flight during a drop is not cached. */
  let drops = 0
  const drop = (which: (grant: ValidGrant) => boolean) => {
    drops++
    for (const [key, { grant }] of verified) if (which(grant)) verified.delete(key)
  }

  /**
   * Runs housekeeping. If it fails, the grants are refused anyway, because `findValidGrant` checks session and time.
   */
  const background = (failure: string, work: Promise<void>) => {
    const task = work
      .catch((error: unknown) => log.error({ err: error }, failure))
      .finally(() => housekeeping.delete(task))
    housekeeping.add(task)
  }
  const housekeeping = new Set<Promise<void>>()

  changes.onApplied(({ sessionId, effects }) => {
    if (!effects.ended) return
    drop(grant => grant.sessionId === sessionId)
    background('grants of an ended session were not deleted', deleteGrantsOfSession(store.db, sessionId))
  })

  members.onChanged(userId => drop(grant => userId === undefined || grant.userId === userId))

  async function startApp(
    sessionId: SessionId,
    name: string,
    { signal, options: chosen }: { readonly signal?: AbortSignal | undefined; readonly options?: AppOptions } = {},
  ): Promise<Pick<Grant, 'app' | 'inject'>> {
    const session = await findSession(store.db, sessionId)
    if (!session) throw new AppError('session_not_found', { sessionId })
    const app = findTunnelApp(session, name)
    if (!app)
      throw new AppError('app_not_found', {
        app: name,
        ...because('app_unknown', { app: name }),
      })
    const [kernel] = await listKernels(store.db, [sessionId])
    if (session.status !== 'RUNNING' || !kernel?.agent_id) {
      throw new AppError('session_not_running', { sessionId, ...because('session_is', { status: session.status }) })
    }
    const input = {
      kernelId: kernel.id,
      app: name,
      timeoutMs: START_APP_TIMEOUT_MS,
      ...(chosen ? { options: chosen } : {}),
    }
    const options = { timeoutMs: START_APP_TIMEOUT_MS + CACHE_MS, signal, patient: true }
    const { inject } = await agents.request(kernel.agent_id, 'start_app', input, options)
    return { app, inject }
  }

  async function issue(
    holder: Pick<NewGrant, 'userId' | 'openedWith'>,
    { sessionId, app: name }: { readonly sessionId: SessionId; readonly app: string },
    signal: AbortSignal | undefined,
  ): Promise<Grant> {
    const { app, inject } = await startApp(sessionId, name, { signal })
    const grant = randomBytes(32).toString('base64url')
    const id = newUuid()
    const row = { id, ...holder, grantHash: hashToken(grant), sessionId, app: name, lifetimeMs: LIFETIME_MS }
    const expiresAt = await insertGrant(store.db, row).catch((error: unknown) => {
      if (!isForeignKeyViolation(error)) throw error
      if ('publishedApp' in holder.openedWith) throw new AppError('published_app_not_found', {}, { cause: error })
      throw new AppError('not_signed_in', because('sign_in_ended_app'), { cause: error })
    })
    injections.set(id, { inject, expiresAt })
    return { grant, sessionId, app, expiresAt: expiresAt.toISOString(), inject }
  }

  async function find(grant: string): Promise<ValidGrant> {
    const valid = await findValidGrant(store.db, hashToken(grant))
    if (!valid) throw new AppError('grant_invalid', because('grant_over'))
    return valid
  }

  const timer = setInterval(() => {
    for (const [key, { until }] of verified) if (until < now()) verified.delete(key)
    for (const [id, { expiresAt }] of injections) if (expiresAt.getTime() < now()) injections.delete(id)
  }, PURGE_EVERY_MS)

  return {
    async startApp(caller, { id, app }, how) {
      await requireEnterable(store.db, caller, id, 'only_members_open_apps')
      await startApp(id, app, how)
    },
    async create(caller, sessionId, name, signal) {
      await requireEnterable(store.db, caller, sessionId, 'only_members_open_apps')
      return await issue({ userId: caller.userId, openedWith: caller }, { sessionId, app: name }, signal)
    },
    async createForProgram(caller, sessionId, name, signal) {
      const session = await requireVisible(store.db, caller, sessionId)
      const token = tokenOf(caller)
      if (token === null) throw new AppError('forbidden', because('only_by_token'))
      const only = await readAppOfToken(store.db, token)
      const isIts = only ? only.sessionId === sessionId && only.app === name : session.token_id === token
      if (!isIts) throw new AppError('forbidden', because('token_other_app'))
      if (!canEnter(caller, ownedOf(session))) throw new AppError('forbidden', because('only_members_open_apps'))
      requireWeb(session, name)
      return await issue({ userId: caller.userId, openedWith: caller }, { sessionId, app: name }, signal)
    },
    createFor: ({ userId, ...opened }, target, signal) =>
      issue({ userId, openedWith: 'publishedApp' in opened ? opened : { ...opened, keypair: null } }, target, signal),
    async renew(grant) {
      const valid = await find(grant)
      const session = await findSession(store.db, valid.sessionId)
      const app = session && findTunnelApp(session, valid.app)
      const expiresAt = await extendGrant(store.db, valid.grantId, LIFETIME_MS)
      if (!app || !expiresAt) throw new AppError('grant_invalid')
      await touchLoginOfGrant(store.db, valid.grantId)
      const { inject } = injections.get(valid.grantId) ?? (await startApp(valid.sessionId, valid.app))
      injections.set(valid.grantId, { inject, expiresAt })
      return { grant, sessionId: valid.sessionId, app, expiresAt: expiresAt.toISOString(), inject }
    },
    async verify(grant, sessionId, app) {
      const key = hashToken(grant).toString('hex')
      let known = verified.get(key)
      if (!known || known.until <= now()) {
        verified.delete(key)
        const before = drops
        const valid = await find(grant)
        known = { grant: valid, until: Math.min(now() + CACHE_MS, valid.expiresAt.getTime()) }
        if (drops === before) verified.set(key, known)
      }
      if (known.grant.sessionId === sessionId && known.grant.app === app) return known.grant
      throw new AppError('grant_invalid', because('grant_for_another'))
    },
    forgetLogin: loginId => drop(grant => grant.loginId === loginId),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await Promise.all(housekeeping)
    },
  }
}
