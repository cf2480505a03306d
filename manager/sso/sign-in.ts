import { z } from 'zod'
import {
  AppError,
  because,
  type ErrorCode,
  ERRORS,
  isAppError,
  type SsoReturn,
  SsoReturn as SsoReturnSchema,
  type SystemSettings,
  type UserId,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  deleteAttempt,
  findAttempt,
  insertAttempt,
  sealOutcome,
  takeState,
} from '../store/identity/sign-in-attempts.ts'
import { lockSuperadmins, type UserRow } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { addressCounts, limitRequests, withBackOff } from '../users/back-off.ts'
import { type Logins, type NewSignIn } from '../users/logins.ts'
import { type Passwords } from '../users/passwords.ts'
import { type SecondFactorCheck } from '../users/second-factor.ts'
import { hashToken, newPassword, newToken } from '../users/secrets.ts'
import { enterAccount, type Entered, type Told } from './enter-account.ts'
import { findAccount } from './find-account.ts'
import { type Person, personOf } from './person.ts'
import { type ProviderClient } from './provider-client.ts'
import { type SignInProviders } from './providers.ts'

const ATTEMPT_SECONDS = 10 * 60
const STARTS_FROM = 30
export const CALLBACK_PATH = '/api/v1/auth/sso/callback'

/**
 * Sign-in at a provider of OpenID Connect, in three steps: a client starts it and keeps a secret; the browser comes back from the
 * provider to our callback, which exchanges the provider's code, keeps what it learnt, and passes a code of ours to the client; the
 * client finishes with code and secret.
 *
 * Threat model. The secret is kept where only the client that began can read it (a page in the storage of its origin, a program in
 * its memory). So a callback address that an attacker sends to a victim signs nobody in (login CSRF), and an address of the provider
 * that an attacker sends to a victim gives the attacker nothing: the code goes to the browser of the victim, and is worthless
 * without the secret there. A cookie in place of the secret would reach every port of the host name (ADR 16). State, nonce and
 * PKCE verifier are made here, random, and of use once: a replayed callback finds nothing. The browser is only ever sent to our
 * own page, or to 127.0.0.1, never to an address that a request named. Everything between the steps is sealed, and lives for ten minutes.
 * The number of starts is limited per network address.
 */
export interface SsoSignIns {
  /** @throws AppError `sign_in_provider_not_found`, `rate_limited`, as `ProviderClient.begin` */
  start(request: {
    provider: string
    return: SsoReturn
    /** Address of the console, without a slash at the end. */
    consoleUrl: string
    address: string
  }): Promise<{ url: string; secret: string; consoleUrl: string; expiresAt: string }>
  /** The browser has come back. @returns where to send it; never fails because of the provider, which `finish` reports */
  callback(query: URLSearchParams): Promise<string>
  /**
   * @throws AppError `sso_expired`, what went wrong at the provider, as `findAccount` and `enterAccount`, `totp_required`,
   *   `totp_invalid`, `login_throttled`
   */
  finish(request: {
    secret: string
    code: string
    totp?: string | undefined
    kind: 'browser' | 'token'
    label?: string | undefined
    address: string
  }): Promise<{ signIn: NewSignIn; told: Told }>
}

export interface SsoSignInsDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly client: ProviderClient
  readonly providers: Pick<SignInProviders, 'open'>
  readonly settings: { read(): Promise<SystemSettings> }
  readonly logins: Pick<Logins, 'signInProved' | 'tellEnd' | 'forget'>
  readonly secondFactor: SecondFactorCheck
  readonly passwords: Pick<Passwords, 'hash'>
  readonly events: EventPublisher
  readonly onMembersLeft?: (userIds: readonly UserId[]) => void
  readonly log: Log
}

const Begun = z.object({
  return: SsoReturnSchema,
  challenge: z.object({ nonce: z.string(), verifier: z.string(), redirectUri: z.string() }),
})
const Outcome = z.union([
  z.object({ person: z.custom<Person>(value => typeof value === 'object' && value !== null) }),
  z.object({ refused: z.object({ code: z.string(), detail: z.record(z.string(), z.unknown()) }) }),
])
type Outcome = z.infer<typeof Outcome>

const placeOf = (stateHash: Buffer) => `sign-in-attempt:${stateHash.toString('base64url')}`
const startAgain = () => new AppError('sso_expired', because('sso_start_again'))

export function createSsoSignIns(deps: SsoSignInsDeps): SsoSignIns {
  const { store, box, client, providers, settings, logins, secondFactor, passwords, events, onMembersLeft, log } = deps
  const { db } = store

  const seal = (stateHash: Buffer, value: unknown) => box.seal(JSON.stringify(value), placeOf(stateHash))
  const unseal = (stateHash: Buffer, sealed: string): unknown => JSON.parse(box.open(sealed, placeOf(stateHash)))

  async function learn(provider: string, challenge: z.infer<typeof Begun>['challenge'], query: URLSearchParams) {
    try {
      const { access, settings } = await providers.open(provider)
      const claims = await client.finish(access, { challenge, query })
      return { person: personOf(claims, settings) }
    } catch (error) {
      if (!isAppError(error)) throw error
      log.warn({ err: error, provider }, 'a sign-in at a provider failed')
      return { refused: { code: error.code, detail: error.detail } }
    }
  }

  function announce({ user, isNew, ended, isChanged, hasLeftProjects }: Entered): void {
    if (!isChanged) return
    logins.forget(user.id)
    const audience = isNew ? 'superadmins' : { userId: user.id, domain: user.domain }
    events.publish({ topic: 'user', id: user.id, version: user.version }, audience)
    if (hasLeftProjects) onMembersLeft?.([user.id])
    void logins.tellEnd(ended).catch((error: unknown) => log.warn({ err: error }, 'ended sign-ins were not announced'))
  }

  /** Checks the code of an account with a second factor, outside of a transaction because the check counts failures. */
  async function checkCode(user: UserRow, totp: string | undefined, address: string): Promise<void> {
    if (totp === undefined) throw new AppError('totp_required', because('code_from_app_or_recovery'))
    const good = await withBackOff(store, { email: user.email, address }, () => secondFactor.check(user, totp))
    if (!good) throw new AppError('totp_invalid', because('code_from_app'))
  }

  return {
    async start({ provider, return: to, consoleUrl, address }) {
      await limitRequests(store, addressCounts('sso', address, STARTS_FROM))
      const { access } = await providers.open(provider)
      const { url, state, challenge } = await client.begin(access, consoleUrl + CALLBACK_PATH)
      const [secret, stateHash] = [newToken(), hashToken(state)]
      const expiresAt = await insertAttempt(db, {
        stateHash,
        secretHash: hashToken(secret),
        provider,
        sealed: seal(stateHash, { return: to, challenge } satisfies z.infer<typeof Begun>),
        lifetimeSeconds: ATTEMPT_SECONDS,
      })
      return { url, secret, consoleUrl, expiresAt: expiresAt.toISOString() }
    },

    async callback(query) {
      const code = newToken()
      const stateHash = hashToken(query.get('state') ?? '')
      const attempt = await takeState(db, stateHash, hashToken(code))
      // Unknown, expired or used before: the client learns it when it finishes with this code.
      if (!attempt) return addressFor({ to: 'page' }, code)
      const { return: to, challenge } = Begun.parse(unseal(stateHash, attempt.sealed))
      const outcome: Outcome = await learn(attempt.provider, challenge, query)
      await sealOutcome(db, stateHash, seal(stateHash, outcome))
      return addressFor(to, code)
    },

    async finish({ secret, code, totp, address, ...options }) {
      const attempt = await findAttempt(db, { codeHash: hashToken(code), secretHash: hashToken(secret) })
      if (!attempt) throw startAgain()
      const { state_hash: stateHash } = attempt
      // A callback that did not end leaves what it began with.
      const outcome = Outcome.safeParse(unseal(stateHash, attempt.sealed)).data
      if (!outcome) throw startAgain()
      if ('refused' in outcome) {
        await deleteAttempt(db, stateHash)
        throw refusalOf(outcome.refused)
      }
      const { person } = outcome
      const { settings: provider } = await providers.open(attempt.provider)
      const system = await settings.read()
      const asksCode = !(provider.trustSecondFactor && person.multiFactor)
      const first = await findAccount(db, person, provider, system)
      const proven = first.kind === 'new' ? undefined : first.user
      if (proven?.active && proven.totp_confirmed_at !== null && asksCode) await checkCode(proven, totp, address)
      const unknownPassword = first.kind === 'known' ? '' : await passwords.hash(newPassword())
      let entered: Entered | undefined
      const signIn = await logins.signInProved({ ...options, address }, async trx => {
        await lockSuperadmins(trx)
        if (!(await deleteAttempt(trx, stateHash))) throw startAgain()
        const found = await findAccount(trx, person, provider, system)
        if (first.kind === 'known' && found.kind !== 'known') throw startAgain()
        entered = await enterAccount(trx, found, { person, provider, unknownPassword, now: new Date(store.now()) })
        const { user } = entered
        // The account was found, linked or given a second factor by somebody else in the meantime.
        if (asksCode && user.totp_confirmed_at !== null && proven?.totp_confirmed_at == null) throw startAgain()
        if (proven && user.id !== proven.id) throw startAgain()
        return user
      })
      if (entered) announce(entered)
      return { signIn, told: { provider: attempt.provider, ...entered?.told } }
    },
  }
}

/** Only our own page, relative to the address of the callback, or the browser's own computer. */
function addressFor(to: SsoReturn, code: string): string {
  switch (to.to) {
    case 'page':
      return `/#/sign-in?sso=${code}`
    case 'code':
      return `/#/sign-in-code?code=${code}`
    case 'loopback':
      return `http://127.0.0.1:${to.port}/?code=${code}`
  }
}

function refusalOf({ code, detail }: { code: string; detail: Record<string, unknown> }): AppError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'sso_provider_wrong'
  return new AppError(known, detail)
}
