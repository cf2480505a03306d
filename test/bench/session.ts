import { setTimeout as wait } from 'node:timers/promises'
import { type ApiClient, type Session } from '#manager/contract'
import { LABEL_KERNEL_ID } from '#agent/contract'
import { pathOf, type Reply } from '#proxy/contract'
import { type Tunnel } from '#proxy/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { signInAsBrowser } from '../fixtures/browser-sign-in.ts'
import { docker } from '../fixtures/docker.ts'
import { buildBenchImage } from './image.ts'
import { benchEnvironment } from './servers.ts'

/** One running session of a whole Berth: `berth up` with manager, agent and the web process that hosts the local proxy. */
export interface BenchSession {
  readonly berth: Berth
  readonly api: ApiClient
  readonly session: Session
  /** Address of the container, for yardsticks that connect to it directly. */
  readonly address: string
  /** Id of the container. */
  readonly container: string
  /** A local port that leads to the app, as a browser gets it from the console. */
  openTunnel(app: string): Promise<Tunnel>
  /** A one-time URL of an HTTP app, and its listener. */
  openApp(app: string): Promise<{ readonly url: string; readonly tunnel: Tunnel }>
}

/** Everything that is started here ends with `stack`. */
export async function startBenchSession(stack: AsyncDisposableStack): Promise<BenchSession> {
  const image = stack.use(await buildBenchImage())
  const berth = stack.use(await startBerth({ environment: benchEnvironment }))
  const api = await berth.api()
  const session = await launch(api, image.name)
  const host = await signInAtConsole(berth)
  return {
    berth,
    api,
    session,
    ...(await containerOf(berth, session)),
    openTunnel: app => host<Tunnel>('tunnel', 'open', { sessionId: session.id, app, onPortTaken: 'random' }),
    openApp: app => host('tunnel', 'openApp', { sessionId: session.id, app, onPortTaken: 'random' }),
  }
}

async function launch(api: ApiClient, image: string): Promise<Session> {
  const { items } = await api.createSession({ body: { image, name: 'bench', resources: { cpu: '1', mem: '1g' } } })
  let [session] = items
  if (!session) throw new Error('no session was made')
  while (session.status !== 'RUNNING') {
    if (session.endedAt) throw new Error(`the session is ${session.status}: ${session.reason.message}`)
    await wait(50)
    session = await api.getSession({ params: { id: session.id } })
  }
  return session
}

async function containerOf(berth: Berth, { name }: Session): Promise<Pick<BenchSession, 'address' | 'container'>> {
  const found = await docker.listContainers({ filters: { label: [LABEL_KERNEL_ID] } })
  for (const { Id } of found) {
    const { Config, NetworkSettings, Mounts } = await docker.getContainer(Id).inspect()
    if (!Mounts.some(mount => mount.Source.startsWith(berth.data))) continue
    const [network] = Object.values(NetworkSettings.Networks)
    if (network && Config.Labels['berth.kernel']?.includes(`"${name}"`))
      return { address: network.IPAddress, container: Id }
  }
  throw new Error('the container of the session was not found')
}

/** HostApi over HTTP with both halves of a browser's sign-in, as the page of the console uses it. */
async function signInAtConsole({ url, adminEmail, adminPassword }: Berth) {
  const { headers } = await signInAsBrowser(url, { email: adminEmail, password: adminPassword })
  return async function call<T>(group: string, method: string, ...args: readonly unknown[]): Promise<T> {
    const response = await fetch(url + pathOf(group, method), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(args),
    })
    const reply = (await response.json()) as Reply<T>
    if (!response.ok || !reply.ok) throw new Error(`${group}.${method}: ${JSON.stringify(reply)}`)
    return reply.value
  }
}
