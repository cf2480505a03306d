import { type Endpoint, type EndpointChoice, type HostApi, type HostEvents } from '#proxy/contract'
import { isUntrusted, knownFailure, trustSystemCertificates } from '#proxy/certificates'
import { type Fetch } from '#proxy/network'
import { AppError, because, type UserId } from '#manager/contract'
import { openAccount, type Account } from '../console/account.ts'
import { type CredentialStore } from '../credentials/credential-store.ts'
import { type EmbeddedStack } from '../stack/embedded-stack.ts'
import { type Running } from '../windows/ask-before-quit.ts'

/** The local proxy as the desktop uses it: the tunnels and SSH kits of one user at one manager. */
export interface UserProxy extends Pick<HostApi, 'tunnel' | 'sftp'>, AsyncDisposable {
  readonly ssh: Pick<HostApi['ssh'], 'connect' | 'keyFile'>
  settings: HostApi['host']['settings']
  saveSettings: HostApi['host']['saveSettings']
  on<E extends 'tunnel:changed' | 'tunnel:traffic' | 'tunnel:closed' | 'sftp:changed'>(
    event: E,
    listener: (payload: HostEvents[E]) => void,
  ): unknown
  /** Call when the user signed in again: waiting connections continue. */
  wake(): void
}
export type StartUserProxy = (deps: {
  readonly managerUrl: string
  readonly userId: UserId
  readonly credentials: () => Promise<Record<string, string>>
}) => Promise<UserProxy>

/** The manager in use and everything that depends on it: the embedded stack, the sign-in, the tunnels. */
export interface Connection extends AsyncDisposable {
  readonly endpoint: Endpoint
  readonly account: Account
  /** The proxy of the signed-in user; started with the first tunnel. */
  proxy(): Promise<UserProxy>
  running(): Promise<Running>
  /** Call after the computer slept: waiting connections retry now. */
  wake(): Promise<void>
}

export interface ConnectionDeps {
  readonly choice: EndpointChoice
  /** True if BERTH_ENDPOINT decides on the manager: the user cannot choose another. */
  readonly isFixed: boolean
  /** Ticket of a sign-in link to this manager; null if there is none. */
  readonly ticket: string | null
  readonly credentials: CredentialStore
  readonly fetch: Fetch
  /** Asks about a certificate that no authority vouches for; true: it is trusted from now on. */
  readonly trust: (origin: string) => Promise<boolean>
  /** Waits while the user is asked for a sign-in to a proxy. @returns whether they gave one */
  readonly proxyAnswered: () => Promise<boolean>
  readonly startStack: () => Promise<EmbeddedStack>
  readonly startProxy: StartUserProxy
  readonly emit: <E extends keyof HostEvents>(event: E, payload: HostEvents[E]) => void
  readonly onUserChanged: () => void
  /** Called if the sign-in came late: pages had asked for it before, and got none. */
  readonly onSignedInLate: () => void
}

export async function openConnection(deps: ConnectionDeps): Promise<Connection> {
  await using cleanUp = new AsyncDisposableStack()
  const stack = deps.choice.kind === 'embedded' ? cleanUp.use(await deps.startStack()) : undefined
  const url = stack?.endpoint ?? (await answering(deps.choice, deps))
  let proxy: Promise<UserProxy> | undefined

  const closeProxy = async () => {
    const closing = proxy
    proxy = undefined
    await (await closing?.catch(() => undefined))?.[Symbol.asyncDispose]()
  }
  cleanUp.defer(closeProxy)

  const account = await openAccount({
    endpoint: url,
    ticket: stack ? stack.ticket : deps.ticket,
    credentials: deps.credentials,
    fetch: deps.fetch,
    onSignedInLate: deps.onSignedInLate,
    async onSignedInAgain() {
      ;(await proxy)?.wake()
    },
    async onUserChanged() {
      deps.onUserChanged()
      await closeProxy()
    },
  })

  const startProxy = async (): Promise<UserProxy> => {
    const userId = await account.userId()
    const started = await deps.startProxy({
      managerUrl: url,
      userId,
      credentials: account.headers,
    })
    started.on('tunnel:changed', payload => deps.emit('tunnel:changed', payload))
    started.on('tunnel:traffic', payload => deps.emit('tunnel:traffic', payload))
    started.on('tunnel:closed', payload => deps.emit('tunnel:closed', payload))
    started.on('sftp:changed', payload => deps.emit('sftp:changed', payload))
    return started
  }

  const owned = cleanUp.move()
  return {
    endpoint: { kind: deps.isFixed ? 'fixed' : deps.choice.kind, url },
    account,
    proxy() {
      if (!account.isSignedIn()) return Promise.reject(new AppError('not_signed_in'))
      const starting = (proxy ??= startProxy())
      // A proxy that failed to start is tried again with the next call.
      starting.catch(() => {
        if (proxy === starting) proxy = undefined
      })
      return starting
    },
    async running() {
      const started = await proxy?.catch(() => undefined)
      const folders = await started?.sftp.state()
      const open = [...((await started?.tunnel.list()) ?? []), ...(folders ? [folders] : [])]
      const connections = open.reduce((sum, one) => sum + one.connections, 0)
      return { tunnels: open.length, connections, stack: stack?.owned ?? false }
    },
    async wake() {
      ;(await proxy)?.wake()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Checks a new address before the current connection is given up. */
async function answering(
  choice: EndpointChoice,
  { fetch, trust, proxyAnswered }: Pick<ConnectionDeps, 'fetch' | 'trust' | 'proxyAnswered'>,
): Promise<string> {
  if (choice.kind !== 'remote') throw new Error('only a remote endpoint is asked')
  const { origin } = new URL(choice.url)
  trustSystemCertificates(origin)
  const ask = () => fetch(`${origin}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(10_000) })
  const reach = (): Promise<Response> =>
    ask().catch(async (error: unknown) => {
      // While a proxy wants a name and a password, the time limit may pass before the user has typed them.
      const isWorthATry = isUntrusted(error) ? await trust(origin) : await proxyAnswered()
      if (isWorthATry) return await reach()
      throw error
    })
  const reply = await reach().catch((error: unknown) => {
    throw new AppError(
      'unavailable',
      { endpoint: origin, ...(knownFailure(error) ?? because('berth_away', { server: origin })) },
      { cause: error },
    )
  })
  if (!reply.ok) throw new AppError('unavailable', { endpoint: origin, ...because('not_a_manager', { where: origin }) })
  return origin
}
