import { AppError, because, type SystemSettings } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { deleteAttempt } from '../store/identity/sign-in-attempts.ts'
import { lockSuperadmins, type UserRow } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { othersMayKnowPassword } from '../users/acting-for.ts'
import { withBackOff } from '../users/back-off.ts'
import { type Logins, type NewSignIn } from '../users/logins.ts'
import { type Passwords, personAsking, strangerAt } from '../users/passwords.ts'
import { type SecondFactorCheck } from '../users/own-proof.ts'
import { newPassword } from '../users/secrets.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { type AttemptProof, type SsoAttempts, startAgain } from './attempts.ts'
import { enterAccount, type Entered, type Told } from './enter-account.ts'
import { findAccount } from './find-account.ts'
import { type SignInProviders } from './providers.ts'

/**
 * Sign-in at a provider of OpenID Connect, in three steps: a client starts it and keeps a secret; the browser comes back from the provider
 * to our callback, which exchanges the provider's code, stores the result, and passes our own code to the client; the client finishes with
 * code and secret.
 *
 * Threat model. The secret is stored where only the client that began can read it (a page in the storage of its origin, a program in its
 * memory). So an attacker who sends a callback address to a victim cannot sign the victim in (login CSRF). An attacker who sends an address
 * of the provider to a victim gets nothing: the code goes to the victim's browser, and is useless there without the secret. If the code
 * goes to a port of the victim's computer, where the attacker may listen, a page asks first (`addressFor`). A cookie in place of the secret
 * would reach every port of the host name (ADR 16). State, nonce and PKCE verifier are random, made here, and usable once: a replayed
 * callback finds nothing. The browser is only ever sent to our own page, or to 127.0.0.1, never to an address that a request named. All
 * data between the steps is encrypted, and lives for ten minutes. Open attempts are limited per network, and a new one replaces the oldest:
 * a limit on starts would lock out a whole office.
 */
export interface SsoSignIns {
  /**
   * @throws AppError `sso_expired`, the error of the provider, as `findAccount` and `enterAccount`, `totp_required`, `totp_invalid`,
   *   `login_throttled`
   */
  finish(
    request: AttemptProof & {
      totp?: string | undefined
      kind: 'browser' | 'token'
      label?: string | undefined
      address: string
    },
  ): Promise<{ signIn: NewSignIn; told: Told }>
}

export interface SsoSignInsDeps {
  readonly store: Store
  readonly attempts: SsoAttempts
  readonly providers: Pick<SignInProviders, 'open'>
  readonly settings: { read(): Promise<SystemSettings> }
  readonly logins: Pick<Logins, 'signInProved' | 'settle'>
  readonly secondFactor: SecondFactorCheck
  readonly passwords: Pick<Passwords, 'hash'>
  readonly events: EventPublisher
  readonly notifier: Pick<AccountNotifier, 'write'>
  readonly log: Log
}

export function createSsoSignIns(deps: SsoSignInsDeps): SsoSignIns {
  const { store, attempts, providers, settings, logins, secondFactor, passwords, events, notifier, log } = deps
  const { db } = store

  async function announce({ user, isNew, isChanged, ...afterCommit }: Entered): Promise<void> {
    if (!isChanged) return
    const audience = isNew ? 'superadmins' : { userId: user.id, domain: user.domain }
    events.publish({ topic: 'user', id: user.id, version: user.version }, audience)
    await logins
      .settle(user.id, afterCommit)
      .catch((error: unknown) => log.warn({ err: error }, 'changes of an account by a sign-in were not announced'))
  }

  /** Checks the code of an account with a second factor; outside of a transaction, because the check counts failures. */
  async function checkCode(user: UserRow, totp: string | undefined): Promise<void> {
    if (totp === undefined) throw new AppError('totp_required', because('code_from_app_or_recovery'))
    const good = await withBackOff(store, { codeOf: user.id }, () => secondFactor.check(user, totp))
    if (!good) throw new AppError('totp_invalid', because('code_from_app'))
  }

  return {
    async finish({ secret, code, totp, address, ...options }) {
      const attempt = await attempts.read({ secret, code })
      const { stateHash, person } = attempt
      const { settings: provider, mappingVersion } = await providers.open(attempt.provider)
      const system = await settings.read()
      const first = await findAccount(db, person, provider, system)
      // Factors that a provider reports count for an account to which it has signed in before, not for one that it links now.
      const asksCode = first.kind === 'linkable' || !(provider.trustSecondFactor && person.multiFactor)
      const proven = first.kind === 'new' ? undefined : first.user
      if (proven?.active && proven.totp_confirmed_at !== null && asksCode) await checkCode(proven, totp)
      // Hashed beforehand, because it takes a while; needed if the password has to end.
      const mayEndPassword = first.kind !== 'known' || othersMayKnowPassword(first.user)
      const asker = proven ? personAsking(proven.id) : strangerAt(address, attempt.provider)
      const unknownPassword = mayEndPassword ? await passwords.hash(newPassword(), asker) : undefined
      let entered: Entered | undefined
      const signIn = await logins.signInProved({ ...options, address }, async trx => {
        await lockSuperadmins(trx)
        if (!(await deleteAttempt(trx, stateHash))) throw startAgain()
        const found = await findAccount(trx, person, provider, system)
        if (first.kind === 'known' && found.kind !== 'known') throw startAgain()
        entered = await enterAccount(trx, found, {
          ...{ person, provider, notifier },
          giver: { provider: attempt.provider, version: mappingVersion },
          unknownPassword: () => unknownPassword ?? raise(startAgain()),
          now: new Date(store.now()),
        })
        const { user } = entered
        // The account was found, linked or given a second factor by somebody else in the meantime.
        if (asksCode && user.totp_confirmed_at !== null && proven?.totp_confirmed_at == null) throw startAgain()
        if (proven && user.id !== proven.id) throw startAgain()
        return user
      })
      if (entered) await announce(entered)
      return { signIn, told: { provider: attempt.provider, ...entered?.told } }
    },
  }
}

function raise(error: AppError): never {
  throw error
}
