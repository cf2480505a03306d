import { isDeepStrictEqual } from 'node:util'
import {
  AppError,
  because,
  type DirectoryPerson,
  type SignInIdentity,
  type SignInProvider,
  type SignInProviderChange,
  type SignInProviderCheck,
  SignInProviderSettings,
  type SignInProviderSpec,
  type UserId,
} from '#manager/contract'
import { type SecretBox } from '../secrets/secret-box.ts'
import { signInProviderContext } from '../secrets/sealed.ts'
import { type Settings } from '../settings/settings.ts'
import { countIdentities, listIdentities } from '../store/identity/sign-in-identities.ts'
import {
  deleteSignInProvider,
  findSignInProvider,
  insertSignInProvider,
  listSignInProviders,
  lockSignInProviders,
  type SignInProviderRow,
  updateSignInProvider,
} from '../store/identity/sign-in-providers.ts'
import { findUser, lockSuperadmins, lockUser } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { endAccess } from '../users/end-access.ts'
import { type Caller } from '../users/authorize.ts'
import { type Logins } from '../users/logins.ts'
import { newsOfTaken, type TakenBack, toldOfTaken, unlinkIdentities } from '../users/take-back.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { type Told } from './enter-account.ts'
import { type DirectoryAccess, type DirectoryClient } from './directory/client.ts'
import { type ProviderAccess, type ProviderClient } from './provider-client.ts'
import { changedSettings, keepsSecret, requireConsistent, settingsOfSpec } from './provider-rules.ts'
import { type Withdrawals } from './withdraw.ts'

/** A provider with its settings. The ways of access hold its secret: only for the clients. */
export interface OpenProvider {
  readonly settings: SignInProviderSettings
  /** Version of the mapping, to be recorded with the rights that it gives. */
  readonly mappingVersion: number
  /** Null for a directory. */
  readonly access: ProviderAccess | null
  /** Null for a provider of OpenID Connect. */
  readonly directory: DirectoryAccess | null
}

/** Sign-in providers, as superadmins set them up, and the links of accounts to them. */
export interface SignInProviders {
  list(): Promise<SignInProvider[]>
  /** @throws AppError `sign_in_provider_exists`, `domain_not_found`, `bad_request` */
  create(spec: SignInProviderSpec): Promise<SignInProvider>
  /**
   * A change of the issuer or the client drops the secret unless it comes with the change: the secret was given for one provider, and must
   * not be sent to another. Rights that the mapping no longer gives are withdrawn.
   *
   * @throws AppError `sign_in_provider_not_found`, `sign_in_provider_in_use`, `domain_not_found`, `bad_request`
   */
  change(id: string, change: SignInProviderChange): Promise<SignInProvider>
  /** Withdraws the rights that its mapping gave. @throws AppError `sign_in_provider_not_found`, `sign_in_provider_in_use` */
  remove(id: string): Promise<void>
  /**
   * Looks a person up in a directory, as Berth reads the entry. Nobody is signed in.
   *
   * @throws AppError as `check`, `bad_request` (OpenID Connect, no account that searches), `user_not_found`
   */
  lookUp(id: string, username: string): Promise<DirectoryPerson>
  /** Active directories that are asked whether they still have their people. */
  directories(): Promise<DirectoryAccess[]>
  /** @throws AppError `sign_in_provider_not_found`, `sso_provider_unreachable`, `sso_provider_wrong` */
  check(id: string): Promise<SignInProviderCheck>
  /** @throws AppError unless the discovery of one active provider works now: the error of the last one, or `bad_request` */
  requireWorking(): Promise<void>
  /** An active provider. @throws AppError `sign_in_provider_not_found` */
  open(id: string): Promise<OpenProvider>
  /** Links of a user. @throws AppError `user_not_found` */
  identities(userId: UserId): Promise<SignInIdentity[]>
  /**
   * Removes these links with the rights of their mappings, and ends the user's sign-ins. @returns the number of links, and details for the
   * audit log. @throws AppError `user_not_found`
   */
  unlink(caller: Caller, userId: UserId): Promise<{ readonly removed: number; readonly told: Told }>
}

export interface SignInProvidersDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly client: Pick<ProviderClient, 'check'>
  readonly directory: Pick<DirectoryClient, 'check' | 'lookUp'>
  readonly settings: Pick<Settings, 'read'>
  readonly logins: Pick<Logins, 'tellEnd' | 'forget'>
  readonly notifier: AccountNotifier
  /** Called when an account has lost rights of a mapping. */
  readonly onTaken: (taken: TakenBack) => Promise<void>
  readonly withdrawals: Pick<Withdrawals, 'catchUp'>
}

export function createSignInProviders(deps: SignInProvidersDeps): SignInProviders {
  const { store, box, client, directory: directoryClient, settings, logins, notifier, onTaken, withdrawals } = deps
  const { db } = store
  const notFound = (id: string) => new AppError('sign_in_provider_not_found', { id })
  const seal = (id: string, secret: string | null) =>
    secret === null ? null : box.seal(secret, signInProviderContext(id))

  const accessOf = (row: SignInProviderRow) => openRow(box, row)

  async function view(id: string): Promise<SignInProvider> {
    const [row, counts] = await Promise.all([findSignInProvider(db, id), countIdentities(db)])
    if (!row) throw notFound(id)
    return toView(row, counts)
  }

  /** While users can sign in only with providers, an active one must remain. Call under `lockSignInProviders`. */
  async function requireAnother(trx: Db, id: string): Promise<void> {
    if ((await settings.read()).passwordSignIn === 'everyone') return
    const others = (await listSignInProviders(trx)).filter(row => row.id !== id)
    if (others.some(({ settings }) => SignInProviderSettings.parse(settings).active)) return
    throw new AppError('sign_in_provider_in_use', because('sign_in_provider_only'))
  }

  const checkOf = ({ access, directory }: OpenProvider) =>
    directory ? directoryClient.check(directory) : client.check(defined(access))

  return {
    async list() {
      const [rows, counts] = await Promise.all([listSignInProviders(db), countIdentities(db)])
      return rows.map(row => toView(row, counts))
    },

    async create(spec) {
      const { id, clientSecret } = spec
      const settings = settingsOfSpec(spec)
      await store.transaction(async trx => {
        await lockSignInProviders(trx)
        await requireConsistent(trx, settings, clientSecret !== null)
        if (await insertSignInProvider(trx, id, { settings, sealedSecret: seal(id, clientSecret) })) return
        throw new AppError('sign_in_provider_exists', { id, ...because('choose_other_id') })
      })
      return view(id)
    },

    async change(id, { clientSecret, ...change }) {
      await store.transaction(async trx => {
        await lockSuperadmins(trx)
        await lockSignInProviders(trx)
        const row = await findSignInProvider(trx, id)
        if (!row) throw notFound(id)
        const before = SignInProviderSettings.parse(row.settings)
        const next = changedSettings(before, change)
        const kept = keepsSecret(before, next) ? row.sealed_secret : null
        const sealedSecret = clientSecret === undefined ? kept : seal(id, clientSecret)
        await requireConsistent(trx, next, sealedSecret !== null)
        if (before.active && !next.active) await requireAnother(trx, id)
        const changesMapping = !isDeepStrictEqual(mappingOf(before), mappingOf(next))
        await updateSignInProvider(trx, id, { settings: next, sealedSecret, changesMapping })
      })
      await withdrawals.catchUp()
      return view(id)
    },

    async remove(id) {
      await store.transaction(async trx => {
        await lockSuperadmins(trx)
        await lockSignInProviders(trx)
        await requireAnother(trx, id)
        if (!(await deleteSignInProvider(trx, id))) throw notFound(id)
      })
      await withdrawals.catchUp()
    },

    async check(id) {
      const row = await findSignInProvider(db, id)
      if (!row) throw notFound(id)
      return checkOf(accessOf(row))
    },

    async lookUp(id, username) {
      const row = await findSignInProvider(db, id)
      if (!row) throw notFound(id)
      const { directory } = accessOf(row)
      if (!directory) throw new AppError('bad_request', because('provider_takes_not', { names: 'username' }))
      const person = await directoryClient.lookUp(directory, username)
      if (person) return person
      const { base, userFilter: filter } = directory.settings.directory
      throw new AppError('user_not_found', because('directory_no_person', { base, filter, username }))
    },

    async directories() {
      const all = (await listSignInProviders(db)).map(accessOf)
      return all.flatMap(({ settings, directory }) => (settings.active && directory ? [directory] : []))
    },

    async requireWorking() {
      const active = (await listSignInProviders(db)).map(accessOf).filter(({ settings }) => settings.active)
      let fault: unknown = new AppError('bad_request', because('sign_in_provider_needed'))
      for (const provider of active) {
        try {
          await checkOf(provider)
          return
        } catch (error) {
          fault = error
        }
      }
      throw fault
    },

    async open(id) {
      const row = await findSignInProvider(db, id)
      const provider = row && accessOf(row)
      if (!provider?.settings.active) throw notFound(id)
      return provider
    },

    async identities(userId) {
      if (!(await findUser(db, userId))) throw new AppError('user_not_found')
      return (await listIdentities(db, userId)).map(({ issuer, subject, email, created_at, last_used_at }) => ({
        issuer,
        subject,
        email,
        createdAt: created_at.toISOString(),
        lastUsedAt: last_used_at.toISOString(),
      }))
    },

    async unlink(caller, userId) {
      const { removed, taken, ended, news } = await store.transaction(async trx => {
        await lockSuperadmins(trx)
        const user = await lockUser(trx, userId)
        if (!user) throw new AppError('user_not_found')
        const identities = await listIdentities(trx, userId)
        const taken = await unlinkIdentities(trx, user, identities)
        const removed = identities.length
        const unlinked = { userId, by: caller, kind: 'identities_unlinked' } as const
        const news = removed > 0 ? [unlinked, ...newsOfTaken(taken)] : []
        await notifier.write(trx, news)
        return { removed, taken, news, ended: removed > 0 ? await endAccess(trx, user) : [] }
      })
      await onTaken(taken)
      logins.forget(userId)
      await logins.tellEnd(ended)
      await notifier.announce(news)
      return { removed, told: toldOfTaken(taken) }
    },
  }
}

/** Opens the secret of a provider. */
function openRow(box: SecretBox, row: SignInProviderRow): OpenProvider {
  const { id, settings: stored, sealed_secret, version, mapping_version: mappingVersion } = row
  const settings = SignInProviderSettings.parse(stored)
  const { name, issuer, clientId, scopes, directory } = settings
  const secret = sealed_secret === null ? null : box.open(sealed_secret, signInProviderContext(id))
  return {
    settings,
    mappingVersion,
    access: directory ? null : { id, version, name, issuer, clientId, scopes, clientSecret: secret },
    directory: directory && { settings: { ...settings, directory }, password: secret },
  }
}

/** The settings that determine which rights a provider can give. */
const mappingOf = ({ issuer, domain, groupsClaim, mapping }: SignInProviderSettings) => ({
  ...{ issuer, domain, groupsClaim, mapping },
})

function defined(access: ProviderAccess | null): ProviderAccess {
  if (!access) throw new Error('a provider is neither of OpenID Connect nor a directory')
  return access
}

function toView(row: SignInProviderRow, counts: ReadonlyMap<string, number>): SignInProvider {
  const settings = SignInProviderSettings.parse(row.settings)
  return {
    ...settings,
    id: row.id,
    clientSecretSet: row.sealed_secret !== null,
    createdAt: row.created_at.toISOString(),
    accounts: counts.get(settings.issuer) ?? 0,
  }
}
