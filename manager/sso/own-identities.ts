import {
  AppError,
  because,
  type FoundIdentity,
  type OwnIdentity,
  SignInProviderSettings,
  type SystemSettings,
} from '#manager/contract'
import { deleteAttempt } from '../store/identity/sign-in-attempts.ts'
import {
  findIdentity,
  insertIdentity,
  listIdentities,
  type SignInIdentityRow,
  type Subject,
} from '../store/identity/sign-in-identities.ts'
import { listSignInProviders } from '../store/identity/sign-in-providers.ts'
import { findUser, lockSuperadmins, lockUser, type UserRow } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { othersMayKnowPassword } from '../users/acting-for.ts'
import { type Caller } from '../users/authorize.ts'
import { type OwnProof, proveOwn, type SecondFactorCheck } from '../users/own-proof.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'
import { type Passwords } from '../users/passwords.ts'
import {
  type AttemptProof,
  type AttemptStart,
  type ProvedAttempt,
  type SsoAttempts,
  startAgain,
  type StartedAttempt,
} from './attempts.ts'
import { type DirectoryAttempts, type DirectoryProof } from './directory/attempts.ts'
import { newsOfTaken, type TakenBack, toldOfTaken, unlinkIdentities } from '../users/take-back.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { linkedNews, type Told } from './enter-account.ts'
import { trustedEmail } from './find-account.ts'
import { type SignInProviders } from './providers.ts'

/**
 * The caller's own accounts at providers.
 *
 * Threat model: a linked account at a provider can sign in from then on, so a passer-by at an open screen must not be able to link one.
 * Linking and unlinking therefore require password and second factor, even though the caller is signed in. The visit to the provider is
 * bound to the account that began it: a sign-in's code cannot link, a link's code cannot sign in, and the code of another person's visit is
 * refused (a victim who opens an attacker's address must not link the attacker's account).
 */
export interface OwnIdentities {
  list(caller: Caller): Promise<OwnIdentity[]>
  /** @throws AppError `login_failed`, `totp_required`, `totp_invalid`, `login_throttled`, and as `SsoAttempts.start` */
  start(caller: Caller, request: OwnProof & Omit<AttemptStart, 'linkTo'>): Promise<StartedAttempt>
  /** The same for a directory, whose name and password prove the other account. @throws AppError also as `DirectoryAttempts.prove` */
  proveAtDirectory(
    caller: Caller,
    request: OwnProof & Omit<DirectoryProof, 'linkTo' | 'password'> & { readonly directoryPassword: string },
  ): Promise<ProvedAttempt>
  /** The account that `finish` would link, to ask the person. Changes nothing. @throws AppError as `SsoAttempts.read` */
  check(caller: Caller, proof: AttemptProof): Promise<FoundIdentity>
  /** @throws AppError as `SsoAttempts.read`; `not_signed_in` (ended meanwhile), `identity_taken`, `sso_email_domain` and others of the address */
  finish(caller: Caller, proof: AttemptProof): Promise<OwnIdentity>
  /**
   * Unlinks the account, and withdraws the rights that the group mapping gave through it. If that changes the role, all sign-ins end.
   *
   * @returns the withdrawn rights, for the audit log
   * @throws AppError as `start`; `identity_not_found`, `identity_needed` for the only way to sign in
   */
  unlink(caller: Caller, request: OwnProof & Subject): Promise<Told>
}

export interface OwnIdentitiesDeps {
  readonly store: Store
  readonly attempts: SsoAttempts
  readonly directoryAttempts: DirectoryAttempts
  readonly providers: Pick<SignInProviders, 'open'>
  readonly passwords: Pick<Passwords, 'verify'>
  readonly secondFactor: SecondFactorCheck
  readonly settings: { read(): Promise<SystemSettings> }
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
  /** Called when an account has lost rights of a mapping. */
  readonly onTaken: (taken: TakenBack) => Promise<void>
}

export function createOwnIdentities(deps: OwnIdentitiesDeps): OwnIdentities {
  const { store, attempts, directoryAttempts, providers, settings, notifier, onTaken } = deps
  const { db } = store

  async function own(caller: Caller): Promise<UserRow> {
    const user = await findUser(db, caller.userId)
    if (!user) throw new AppError('user_not_found')
    return user
  }

  const prove = async (caller: Caller, proof: OwnProof) => proveOwn(deps, await own(caller), proof)

  return {
    list: async caller => views(db, await listIdentities(db, caller.userId)),

    async start(caller, { password, totp, ...request }) {
      await prove(caller, { password, totp })
      return attempts.start({ ...request, linkTo: caller.userId })
    },

    async proveAtDirectory(caller, { password, totp, directoryPassword, ...request }) {
      await prove(caller, { password, totp })
      return directoryAttempts.prove({ ...request, password: directoryPassword, linkTo: caller.userId })
    },

    async check(caller, proof) {
      const { provider: id, person } = await attempts.read(proof, caller.userId)
      const { settings: provider } = await providers.open(id)
      const { issuer, subject, email } = person
      return { issuer, subject, email, provider: provider.name }
    },

    async finish(caller, proof) {
      const { stateHash, provider: id, person } = await attempts.read(proof, caller.userId)
      const { settings: provider } = await providers.open(id)
      if (provider.emailDomains.length > 0) trustedEmail(person, provider)
      const { issuer, subject } = person
      const { linked, news } = await store.transaction(async trx => {
        const user = await lockUser(trx, caller.userId)
        await requireStillSignedIn(trx, caller)
        if (!user || !(await deleteAttempt(trx, stateHash))) throw startAgain()
        const email = person.email ?? user.email
        const doubtful = othersMayKnowPassword(user)
        if (!(await insertIdentity(trx, { issuer, subject, userId: user.id, email, doubtful }))) {
          throw new AppError('identity_taken', because('identity_taken', { provider: provider.name }))
        }
        const news = [linkedNews(user, provider, person)]
        await notifier.write(trx, news)
        return { linked: await findIdentity(trx, person), news }
      })
      await notifier.announce(news)
      const [view] = await views(db, linked ? [linked] : [])
      if (!view) throw startAgain()
      return view
    },

    async unlink(caller, { issuer, subject, ...proof }) {
      await prove(caller, proof)
      const { passwordSignIn } = await settings.read()
      const { taken, news } = await store.transaction(async trx => {
        await lockSuperadmins(trx)
        const user = await lockUser(trx, caller.userId)
        const all = await listIdentities(trx, caller.userId)
        const mine = all.filter(one => one.issuer === issuer && one.subject === subject)
        if (!user || mine.length === 0) throw new AppError('identity_not_found')
        const taken = await unlinkIdentities(trx, user, mine)
        // Checked with the role that remains: the linked account may have given the role that lets its person use a password.
        const hasPassword = passwordSignIn === 'everyone' || taken.user.role === 'superadmin'
        if (all.length === 1 && !hasPassword) throw new AppError('identity_needed', because('identity_only_way'))
        const news = newsOfTaken(taken)
        await notifier.write(trx, news)
        return { taken, news }
      })
      await onTaken(taken)
      await notifier.announce(news)
      return toldOfTaken(taken)
    },
  }
}

/** Adds the names of the providers, as the sign-in page shows them. */
async function views(db: Db, rows: readonly SignInIdentityRow[]): Promise<OwnIdentity[]> {
  const all = (await listSignInProviders(db)).map(({ settings }) => SignInProviderSettings.parse(settings))
  return rows.map(({ issuer, subject, email, created_at, last_used_at }) => ({
    issuer,
    subject,
    email,
    createdAt: created_at.toISOString(),
    lastUsedAt: last_used_at.toISOString(),
    provider: all.find(one => one.issuer === issuer)?.name ?? null,
  }))
}
