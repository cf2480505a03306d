import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { type ApiClient, type Session } from '#manager/contract'
import { LABEL_KERNEL_ID } from '#agent/contract'
import { pathOf, type Reply } from '#proxy/contract'
import { type Tunnel } from '#proxy/contract'
import { SERVER_OPTIONS } from '../../cli/server-options.ts'
import { type Berth, root, startBerth } from '../fixtures/berth.ts'
import { signInAsBrowser } from '../fixtures/browser-sign-in.ts'
import { docker } from '../fixtures/docker.ts'
import { buildBenchImage } from './image.ts'
import { benchEnvironment } from './servers.ts'

/** A console that opens local ports. */
export interface BenchConsole {
  /** A local port of the app, as a browser gets it from the console. */
  openTunnel(app: string): Promise<Tunnel>
  /** A one-time URL of an HTTP app, and its listener. */
  openApp(app: string): Promise<{ readonly url: string; readonly tunnel: Tunnel }>
}

/** A running session of a whole Berth: `berth up` with manager, agent and the web process that hosts the local proxy. */
export interface BenchSession extends BenchConsole {
  readonly berth: Berth
  readonly api: ApiClient
  readonly session: Session
  /** Address of the container, for yardsticks that connect to it directly. */
  readonly address: string
  /** Id of the container. */
  readonly container: string
  /**
   * A console in a process of its own, without the key of the direct path (ADR 41): its bytes go through manager and agent, as those
   * of a session on another computer.
   */
  viaManager(): Promise<BenchConsole>
}

/** Everything started here ends with `stack`. */
export async function startBenchSession(stack: AsyncDisposableStack): Promise<BenchSession> {
  const image = stack.use(await buildBenchImage())
  const berth = stack.use(await startBerth({ environment: benchEnvironment }))
  const api = await berth.api()
  const session = await launch(api, image.name)
  return {
    berth,
    api,
    session,
    ...(await containerOf(berth, session)),
    ...(await consoleAt(berth.url, berth, session)),
    viaManager: async () => await consoleAt(await startConsole(stack, berth), berth, session),
  }
}

async function consoleAt(url: string, berth: Berth, session: Session): Promise<BenchConsole> {
  const host = await signInAtConsole(berth, url)
  return {
    openTunnel: app => host<Tunnel>('tunnel', 'open', { sessionId: session.id, app, onPortTaken: 'random' }),
    openApp: app => host('tunnel', 'openApp', { sessionId: session.id, app, onPortTaken: 'random' }),
  }
}

/** Starts a console for the manager of a `berth up`. @returns its address */
async function startConsole(stack: AsyncDisposableStack, berth: Berth): Promise<string> {
  const { console: pid } = await berth.servers()
  const variables = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')
  const managerUrl = variables.find(variable => variable.startsWith('BERTH_MANAGER_URL='))?.split('=')[1]
  const data = join(berth.data, 'another-console')
  const child = spawn(process.execPath, [...SERVER_OPTIONS, join(root, 'proxy/web/main.ts')], {
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, ...benchEnvironment },
      ...{ BERTH_MANAGER_URL: managerUrl, BERTH_DATA: data, BERTH_SSH_DIR: join(data, 'ssh'), BERTH_PORT: '0' },
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  stack.defer(() => void child.kill())
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return (JSON.parse(line) as { url: string }).url
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
async function signInAtConsole({ adminEmail, adminPassword }: Berth, url: string) {
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
