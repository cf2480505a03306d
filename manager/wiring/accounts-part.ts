import { type IncomingMessage } from 'node:http'
import { type UserId } from '#manager/contract'
import { type Peers } from '../cluster/peers.ts'
import { type EventBus } from '../events/bus.ts'
import { requireWebApp } from '../grants/require-web-app.ts'
import { createAccessTokenRoutes } from '../http/routes/access-tokens.ts'
import { createAccountRoutes } from '../http/routes/accounts.ts'
import { createDomainRoutes } from '../http/routes/domains.ts'
import { createHomeFileRoutes } from '../http/routes/home-files.ts'
import { createIdentityRoutes } from '../http/routes/identity.ts'
import { createKeypairRoutes } from '../http/routes/keypairs.ts'
import { type ScimEndpoint, SCIM_PATH } from '../http/routes/scim.ts'
import { createSignInProviderRoutes } from '../http/routes/sign-in-providers.ts'
import { createScimTokenRoutes } from '../http/routes/scim-tokens.ts'
import { createSshKeypairRoutes } from '../http/routes/ssh-keypair.ts'
import { type Log } from '../log.ts'
import { type Mailer } from '../mail/mailer.ts'
import { createScimGroups } from '../scim/groups.ts'
import { createScimTokens } from '../scim/tokens.ts'
import { createScimUsers } from '../scim/users.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Settings } from '../settings/settings.ts'
import { createSsoAttempts, type SsoAttempts } from '../sso/attempts.ts'
import { createDirectoryAttempts } from '../sso/directory/attempts.ts'
import { createDirectoryClient } from '../sso/directory/client.ts'
import { type DepartureTimings, startDepartures } from '../sso/directory/departures.ts'
import { createOwnIdentities } from '../sso/own-identities.ts'
import { createProviderClient } from '../sso/provider-client.ts'
import { createSignInProviders } from '../sso/providers.ts'
import { createSsoSignIns } from '../sso/sign-in.ts'
import { startWithdrawals } from '../sso/withdraw.ts'
import { readRestoredAt } from '../store/operation/restored.ts'
import { type Store } from '../store/open-store.ts'
import { createAccessTokens } from '../users/access-tokens.ts'
import { createDomains } from '../users/domains.ts'
import { ensureFirstAdmin } from '../users/first-admin.ts'
import { createGroups } from '../users/groups.ts'
import { createHomeFiles } from '../users/home-files.ts'
import { createInvitations } from '../users/invitations.ts'
import { createKeypairCheck } from '../users/keypair-check.ts'
import { createKeypairs } from '../users/keypairs.ts'
import { lifetimesOf } from '../users/login-lifetimes.ts'
import { createLogins, type Logins } from '../users/logins.ts'
import { createPasswordResets } from '../users/password-reset.ts'
import { createPasswords, type Passwords } from '../users/passwords.ts'
import { createRateLimits } from '../users/rate-limits.ts'
import { createSecondFactor } from '../users/second-factor.ts'
import { createSignUpRequests } from '../users/sign-up-requests.ts'
import { createSignUps } from '../users/sign-up.ts'
import { createSigners, type Signers } from '../users/signers.ts'
import { createSshKeypairs } from '../users/ssh-keypairs.ts'
import { type TakenBack } from '../users/take-back.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { createUserImports } from '../users/user-import.ts'
import { createUsers } from '../users/users.ts'

export interface AccountsPartDeps {
  readonly store: Store
  readonly box: SecretBox
  /** Absolute. */
  readonly dataDir: string
  /** Password of `admin@localhost` at the first start; if left out, a random one is created. */
  readonly adminPassword: string | undefined
  readonly settings: Settings
  readonly mailer: Mailer
  readonly notifier: AccountNotifier
  readonly events: EventBus
  readonly peers: Peers
  /** Address of the console for links, used if the settings name none. */
  readonly consoleAddress: (request: IncomingMessage) => string
  readonly isReachedAs: (request: IncomingMessage, host: string) => boolean
  /** Called after limits of users or projects change, or accounts are activated or deactivated. */
  readonly onLimitsChanged: () => void
  readonly onFolderLimitsChanged: () => void
  /** Called after users were removed from projects. */
  readonly onMembersLeft: (userIds: readonly UserId[]) => void
  readonly timings?: { readonly departures?: DepartureTimings } | undefined
  readonly log: Log
}

/** Accounts of people and how they sign in: passwords, keypairs, providers, second factors, domains and projects. */
export interface AccountsPart extends AsyncDisposable {
  readonly passwords: Passwords
  readonly logins: Logins
  readonly signers: Signers
  readonly sso: Pick<SsoAttempts, 'callback'>
  readonly scim: Omit<ScimEndpoint, 'log'>
  /** @throws AppError if no sign-in provider works; call it before sign-in by password is switched off */
  requireWorkingProvider(): Promise<void>
  readonly handlers: AccountsHandlers
}

type AccountsHandlers = ReturnType<typeof createIdentityRoutes> &
  ReturnType<typeof createAccountRoutes> &
  ReturnType<typeof createSignInProviderRoutes> &
  ReturnType<typeof createScimTokenRoutes> &
  ReturnType<typeof createDomainRoutes> &
  ReturnType<typeof createSshKeypairRoutes> &
  ReturnType<typeof createHomeFileRoutes> &
  ReturnType<typeof createKeypairRoutes> &
  ReturnType<typeof createAccessTokenRoutes>

/**
 * Creates the first superadmin if there is no account yet, and starts the caches for sign-ins and signatures.
 *
 * @throws AppError `weak_password` for the first superadmin's password
 */
export async function startAccountsPart(deps: AccountsPartDeps): Promise<AccountsPart> {
  const { store, box, dataDir, adminPassword, settings, mailer, notifier, events, peers, consoleAddress, log } = deps
  const { onLimitsChanged, onFolderLimitsChanged, onMembersLeft, isReachedAs } = deps
  const passwords = createPasswords()
  await ensureFirstAdmin({ store, passwords, dataDir, password: adminPassword, log })
  const onChanged = (userId: UserId) => logins.forget(userId)
  const tellEnd = (loginIds: readonly string[]) => logins.tellEnd(loginIds)
  const secondFactor = createSecondFactor({ store, box, passwords, settings, notifier, events, onChanged, tellEnd })
  await using stack = new AsyncDisposableStack()
  const rates = stack.use(createRateLimits({ store, log }))
  const logins = stack.use(
    createLogins({
      store,
      passwords,
      secondFactor,
      notifier,
      log,
      onMembersLeft,
      lifetimes: async () => lifetimesOf(await settings.read()),
      passwordSignIn: async () => (await settings.read()).passwordSignIn,
      checkKeypair: createKeypairCheck({ db: store.db, box }),
      rates,
      peers,
    }),
  )
  const restoredAt = await readRestoredAt(store.db)
  const signers = stack.use(createSigners({ store, box, rates, restoredAt, peers }))
  logins.onChange(() => void signers.recheck().catch(() => undefined))

  const client = createProviderClient({ now: () => store.now() })
  const onTaken = async ({ user, ended, projects, role }: TakenBack) => {
    if (projects.length === 0 && role === null) return
    logins.forget(user.id)
    events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })
    onMembersLeft([user.id])
    await logins.tellEnd(ended)
  }
  const withdrawals = stack.use(startWithdrawals({ store, settings, notifier, onTaken, log }))
  const directory = createDirectoryClient()
  const providers = createSignInProviders({
    store,
    box,
    client,
    directory,
    settings,
    logins,
    notifier,
    onTaken,
    withdrawals,
  })
  const attempts = createSsoAttempts({ store, box, client, providers, log })
  const directoryAttempts = createDirectoryAttempts({ store, client: directory, providers, attempts })
  const sso = createSsoSignIns({
    store,
    attempts,
    providers,
    settings,
    logins,
    secondFactor,
    passwords,
    events,
    notifier,
    log,
  })
  stack.use(
    startDepartures({
      store,
      client: directory,
      providers,
      notifier,
      onChanged: async (user, afterCommit) => {
        await logins.settle(user.id, afterCommit)
        events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })
        onLimitsChanged()
      },
      log,
      timings: deps.timings?.departures,
    }),
  )
  const endKeypair = (accessKey: string, loginIds: readonly string[]) => {
    signers.end(accessKey)
    logins.tellEnd(loginIds).catch((error: unknown) => {
      log.error({ err: error, accessKey }, 'not everything was told of the end of a keypair')
    })
  }
  const proving = { store, passwords, secondFactor }
  const mailing = { store, passwords, settings, mailer }
  const users = createUsers({ ...mailing, logins, notifier, events, onChanged: onLimitsChanged })
  const groups = createGroups({ store, notifier, events, onLimitsChanged, onFolderLimitsChanged, onMembersLeft })
  const scimTokens = createScimTokens({ store })
  const opened = stack.move()
  return {
    passwords,
    logins,
    signers,
    sso: attempts,
    scim: {
      tokens: scimTokens,
      users: createScimUsers({ store, passwords, logins, notifier, events, onChanged: onLimitsChanged }),
      groups: createScimGroups({ store, groups }),
      baseUrl: async request => ((await settings.read()).publicUrl ?? consoleAddress(request.raw)) + SCIM_PATH,
    },
    requireWorkingProvider: () => providers.requireWorking(),
    handlers: {
      ...createIdentityRoutes({
        logins,
        users,
        userImports: createUserImports({ ...mailing, events, notifier }),
        consoleAddress,
      }),
      ...createAccountRoutes({
        signUps: createSignUps({ ...mailing, events }),
        signUpRequests: createSignUpRequests({ ...mailing, events, notifier }),
        passwordResets: createPasswordResets({ ...mailing, logins, notifier }),
        invitations: createInvitations({ store, settings }),
        consoleAddress,
        secondFactor,
      }),
      ...createSignInProviderRoutes({
        providers,
        attempts,
        directoryAttempts,
        sso,
        own: createOwnIdentities({ ...proving, attempts, directoryAttempts, providers, settings, notifier, onTaken }),
        settings,
        consoleAddress,
        isReachedAs,
      }),
      ...createDomainRoutes({
        domains: createDomains({ store, logins, onLimitsChanged }),
        groups,
      }),
      ...createScimTokenRoutes({ tokens: scimTokens, settings, consoleAddress }),
      ...createSshKeypairRoutes(createSshKeypairs({ store, notifier })),
      ...createHomeFileRoutes(createHomeFiles({ store, box, notifier })),
      ...createAccessTokenRoutes(
        createAccessTokens({
          ...{ ...proving, notifier, logins, onEnded: onLimitsChanged },
          requireWebApp: (caller, app) => requireWebApp(store.db, caller, app),
        }),
      ),
      ...createKeypairRoutes(createKeypairs({ ...proving, box, notifier, onEnd: endKeypair, onLimitsChanged })),
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
