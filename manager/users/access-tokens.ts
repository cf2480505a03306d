import {
  type AccessToken,
  type AccessTokenSpec,
  AppError,
  because,
  type NewAccessToken,
  type TokenApp,
} from '#manager/contract'
import {
  type AccessTokenRow,
  deleteAccessToken,
  insertAccessToken,
  listAccessTokens,
} from '../store/identity/access-tokens.ts'
import { lockUser } from '../store/identity/users.ts'
import { newUuid } from '../store/new-id.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { type Caller } from './authorize.ts'
import { type LoginEnds } from './login-ends.ts'
import { type OwnProofDeps, provePerson } from './own-proof.ts'
import { hashToken, newToken } from './secrets.ts'
import { requireStillSignedIn } from './still-authorized.ts'

/** Seconds. */
const HOUR = 3_600

/** More than one person's programs need with a token each. */
const MOST_TOKENS = 100

/**
 * Access tokens: bearer tokens of one person for programs, each with a part of the person's rights (ADR 92).
 *
 * Threat model: a token lies in files and variables of programs that may be read or led astray. It is shown once and stored as a hash; it
 * never administers, never reaches the account or its keys, and touches only sessions that it launched itself. It ends like a sign-in,
 * because whoever stole a password may have made one: with a new password, role or domain, with *end all other sign-ins*, and with the
 * account. What it opened ends with it; its running sessions go on, and its waiting ones are cancelled (`listTokenless`).
 */
export interface AccessTokens {
  list(caller: Caller): Promise<{ items: AccessToken[] }>
  /** @throws AppError `forbidden` (with a keypair), `over_person_limit`, `not_signed_in` (ended meanwhile), and as `provePerson` */
  create(caller: Caller, spec: AccessTokenSpec, address: string): Promise<NewAccessToken>
  /** @throws AppError `access_token_not_found` */
  end(caller: Caller, id: string): Promise<void>
}

export interface AccessTokensDeps extends OwnProofDeps {
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
  readonly logins: Pick<LoginEnds, 'tellEnd'>
  /** @throws AppError `session_not_found`, `forbidden`, `app_not_found`, `bad_request`: the person may not open this app, or it is no web app */
  readonly requireWebApp: (caller: Caller, app: TokenApp) => Promise<void>
  /** Called after a token was ended: its waiting sessions do not start any more. */
  readonly onEnded?: () => void
}

export function createAccessTokens(deps: AccessTokensDeps): AccessTokens {
  const { store, notifier, logins, requireWebApp, onEnded } = deps
  const { db } = store

  return {
    async list({ userId }) {
      return { items: (await listAccessTokens(db, userId)).map(toAccessToken) }
    },

    async create(caller, { name, scopes, days, budget = {}, app, password, totp }, address) {
      if (app) await requireWebApp(caller, app)
      await provePerson(deps, caller, { password, totp })
      const { userId } = caller
      const id = newUuid()
      const token = newToken()
      const news = [{ userId, by: caller, kind: 'own_token_made', detail: name }] as const
      const [made] = await store.transaction(async trx => {
        if (!(await lockUser(trx, userId))) throw new AppError('user_not_found')
        await requireStillSignedIn(trx, caller)
        if ((await listAccessTokens(trx, userId)).length >= MOST_TOKENS) {
          const limit = MOST_TOKENS
          throw new AppError('over_person_limit', { limit, ...because('tokens_at_most', { limit }) })
        }
        const { sessions: mostSessions = null, sessionSeconds = null, gpuHours = null } = budget
        const gpuSeconds = gpuHours === null ? null : gpuHours * HOUR
        const limits = { days, mostSessions, sessionSeconds, gpuSeconds, app }
        await insertAccessToken(trx, {
          ...{ id, userId, name, address, tokenHash: hashToken(token), scopes: [...new Set(scopes)] },
          ...limits,
        })
        await notifier.write(trx, news)
        return listAccessTokens(trx, userId, id)
      })
      await notifier.announce(news)
      if (!made) throw new Error('an access token that was just made is not there')
      return { ...toAccessToken(made), token }
    },

    async end({ userId }, id) {
      const ended = await deleteAccessToken(db, userId, id)
      if (ended.length === 0) throw new AppError('access_token_not_found')
      await logins.tellEnd(ended)
      onEnded?.()
    },
  }
}

function toAccessToken(row: AccessTokenRow): AccessToken {
  const created = row.created_at.getTime()
  return {
    id: row.id,
    name: row.label ?? '',
    scopes: row.scopes ?? [],
    budget: {
      sessions: row.most_sessions,
      sessionSeconds: row.session_seconds,
      gpuHours: row.gpu_seconds === null ? null : inHours(row.gpu_seconds),
    },
    sessions: row.sessions,
    gpuHours: inHours(row.gpu_seconds_taken),
    app:
      row.app_session === null || row.app_name === null
        ? null
        : { sessionId: row.app_session, app: row.app_name, sessionName: row.app_session_name },
    createdAt: row.created_at.toISOString(),
    // The column is filled when the row is made.
    lastUsedAt: row.last_used_at.getTime() === created ? null : row.last_used_at.toISOString(),
    address: row.address.replace(/^::ffff:/, ''),
    expiresAt: row.expires_at.toISOString(),
  }
}

/** Hours to the hundredth. */
const inHours = (seconds: number) => Math.round((seconds / HOUR) * 100) / 100
