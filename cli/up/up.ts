import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AppError, isAppError, toWireError, type WireError } from '#manager/contract'
import { environmentOf } from '../config/berth-toml/parse.ts'
import { chosenConsolePort, consoleHostsOf, consolePortOf, readSettings } from '../config/berth-toml/read.ts'
import { type ServerName } from '../config/berth-toml/settings.ts'
import { dataDirectory } from '../config/directories.ts'
import { type Output } from '../output.ts'
import { programFile, ROOT } from '../program-file.ts'
import { appsProposal } from './apps-proposal.ts'
import { hasDisplay } from './browser.ts'
import { buildImages } from './build-images.ts'
import { type ChildSpec, startChild } from './child.ts'
import { findConsolePort, freeAt } from './console-port.ts'
import { askRunning, askStarting, controlSocketPath, openControlSocket, type Running } from './control-socket.ts'
import { endExposedSignIns } from './exposed-sign-ins.ts'
import { type HeldPort, holdPort } from './held-port.ts'
import { type PartlyIsolated, tellIsolation } from './isolation.ts'
import { openConsole, type Opened } from './open-console.ts'
import { createSignInPage } from './sign-in-page.ts'
import { explainTakenPort } from './taken-port.ts'
import { type Supervised, supervise, type SupervisorDeps } from './supervisor.ts'

export interface UpOptions {
  readonly data?: string
  /** Settings file to use instead of DATA/berth.toml. */
  readonly config?: string
  /** Port of the console; default: BERTH_PORT, then the file, then 8400. */
  readonly port?: number
  /** Where the console opens. */
  readonly open: Opened | 'nothing'
  /** False: console and manager only, for a computer without a Docker Engine. */
  readonly engine: boolean
  /** Builds the images that sessions need, beside the start, if the engine lacks them. */
  readonly images: boolean
  /** Speaks https, whatever the settings say. */
  readonly tls: boolean
  /** Puts a one-time sign-in ticket into the url of the JSON line: for the desktop app, which reads it from a pipe. */
  readonly ticket: boolean
  readonly output: Output
  /** Stops everything that was started. */
  readonly signal: AbortSignal
}

type SpecOf = (name: ServerName, script: string, environment: Record<string, string>, held?: HeldPort) => ChildSpec

const READY_WITHIN_MS = 120_000
/** Limit for the agent, which may wait for an engine that starts at the same time; the console is useful without it. */
const AGENT_WITHIN_MS = 30_000

/**
 * Runs everything on this machine, in the foreground: embedded PostgreSQL, manager, agent and console. Resolves when the signal
 * has fired and everything has stopped, in reverse order. Sessions keep running: their containers belong to the engine.
 */
export async function up({
  data = dataDirectory(),
  config,
  port: portFlag,
  open,
  ticket,
  engine,
  images,
  tls,
  output,
  signal,
}: UpOptions): Promise<void> {
  const directory = resolve(data)
  const settings = await readSettings(directory, config)
  const wantedPort = consolePortOf(settings, portFlag)
  await mkdir(join(directory, 'logs'), { recursive: true, mode: 0o711 })
  await using stack = new AsyncDisposableStack()

  let describe: () => Promise<Running> = () => Promise.reject(new AppError('unavailable'))
  const socketPath = controlSocketPath(directory)
  const lock = await openControlSocket(socketPath, () => describe())
  if (!lock) {
    await attach(socketPath, { open, ticket, output, directory, signal })
    return
  }
  stack.use(lock)

  const consoleHosts = consoleHostsOf(settings)
  const isAnyPort = ticket && chosenConsolePort(settings, portFlag) === undefined
  const found = isAnyPort ? await findConsolePort(directory, wantedPort, freeAt(consoleHosts)) : undefined
  const port = found?.port ?? wantedPort
  const deps = { start: startChild, note: output.note, signal }
  const spec: SpecOf = (name, script, environment, held) => ({
    name,
    script: programFile(script),
    environment: {
      BERTH_DATA: directory,
      ...environmentOf(settings, name, process.env),
      ...(held ? { BERTH_PORT: String(held.port), BERTH_PORT_HELD: '1' } : {}),
      ...environment,
    },
    held,
    logFile: join(directory, 'logs', `${name}.log`),
    readyWithinMs: READY_WITHIN_MS,
  })

  // Authenticates the console to the manager: other users of this computer reach the manager's port too.
  const BERTH_CONSOLE_SECRET = randomBytes(32).toString('base64url')
  // Known to the console and the agent only, so that the console can tell places that this agent names from all others (ADR 41).
  const BERTH_DIRECT_KEY = randomBytes(32).toString('base64url')
  const consolePort = stack.use(
    await holdPort(consoleHosts, port).catch(async (error: unknown) => {
      throw await explainTakenPort(error, 'berth up --port 0')
    }),
  )
  const managerPort = stack.use(await holdPort(['127.0.0.1'], 0))
  const managerSpec = spec('manager', 'manager/main', { BERTH_CONSOLE_SECRET }, managerPort)
  /** For the desktop app, which shows the steps of the start. */
  const step = (name: ServerName, state: 'running' | 'done' | 'absent', error?: WireError) => {
    if (ticket) output.note(JSON.stringify({ step: name, state, reason: error }))
  }
  const shown = async <T>(name: ServerName, start: Promise<T>): Promise<T> => {
    step(name, 'running')
    const started = await start
    if (started !== undefined) step(name, 'done')
    return started
  }
  const manager = stack.use(await shown('manager', supervise(managerSpec, deps)))
  signal.throwIfAborted()
  const remember = await endExposedSignIns(directory, () => manager.current.ask('end_browser_sign_ins'))
  const environmentOfConsole = {
    BERTH_MANAGER_URL: String(manager.current.ready.url),
    BERTH_CONSOLE_SECRET,
    BERTH_DIRECT_KEY,
    ...(tls ? { BERTH_TLS: 'on' } : {}),
  }
  const consoleSpec = spec('console', 'proxy/web/main', environmentOfConsole, consolePort)
  const specOfAgent: SpecOf = (name, script, environment) => spec(name, script, { ...environment, BERTH_DIRECT_KEY })
  const [agent, console_] = await startTogether(
    engine
      ? shown('agent', startAgent(manager, specOfAgent, { ...deps, onAbsent: why => step('agent', 'absent', why) }))
      : Promise.resolve(undefined),
    shown('console', supervise(consoleSpec, deps)),
  )
  if (agent) stack.use(agent)
  stack.use(console_)
  signal.throwIfAborted()

  const url = String(console_.current.ready.url)
  await found?.keep(consolePort.port)
  await remember(url)
  const page = stack.use(createSignInPage(directory))
  let partlyIsolated: PartlyIsolated | undefined
  describe = async () => {
    const { ticket } = (await manager.current.ask('create_sign_in_ticket')) as { ticket: string }
    const { code } = (await console_.current.ask('create_local_code')) as { code: string }
    const { faults } = (await console_.current.ask('list_proxy_faults')) as { faults: Running['proxyFaults'] }
    const { apps } = (await console_.current.ask('get_apps')) as Pick<Running, 'apps'>
    const { certificate } = (await console_.current.ask('get_certificate')) as Pick<Running, 'certificate'>
    const proof = `/sessions?local=${code}`
    const signInUrl = `${url}/#/sign-in?ticket=${ticket}&next=${encodeURIComponent(proof)}`
    return {
      url,
      signInUrl,
      localUrl: `${url}/#${proof}`,
      signInPage: await page.write(signInUrl),
      adminEmail: 'admin@localhost',
      adminPasswordFile: join(directory, 'admin-password'),
      pid: process.pid,
      proxyFaults: faults,
      apps,
      certificate,
      partlyIsolated,
    }
  }
  const window = await present(await describe(), { open, ticket, output, directory })
  if (window) stack.use(window)
  // Not waited for: setting the rules takes a few seconds.
  if (agent)
    void askIsolation(agent).then(found => {
      partlyIsolated = found
      if (found !== undefined) tellIsolation(found, { ticket, output })
    })
  if (agent && images) stack.use(buildImages({ directory, note: output.note }))
  if (!signal.aborted) await new Promise<void>(done => signal.addEventListener('abort', () => done(), { once: true }))
  output.note('Stopping. Sessions keep running.')
}

/** Limit for the start of another Berth: its manager, then its console and agent, and what comes before them. */
const OTHER_STARTS_WITHIN_MS = 3 * READY_WITHIN_MS

/** A second `berth up` on the same data directory shows the first one, once that is ready. */
async function attach(socketPath: string, options: PresentOptions & Pick<UpOptions, 'signal'>): Promise<void> {
  const { directory, output, signal } = options
  let running = await askRunning(socketPath)
  if (!running) {
    output.note(`Another Berth is starting or stopping in ${directory}. Waiting for it.`)
    running = await askStarting(socketPath, { everyMs: 250, withinMs: OTHER_STARTS_WITHIN_MS, signal })
  }
  if (!running)
    throw new AppError('data_dir_locked', {
      why: `Another Berth has just stopped in ${directory}, or does not get ready. Try again.`,
    })
  options.output.note(`Berth is already running (process ${running.pid}).`)
  await present(running, options)
  if (running.partlyIsolated !== undefined) tellIsolation(running.partlyIsolated, options)
}

/** For people to compare where no authority vouches for the certificate. */
function fingerprintText({ certificate }: Running): string {
  if (!certificate || certificate.isPublic) return ''
  const until = certificate.notAfter.slice(0, 10)
  return `Fingerprint of the certificate (SHA-256, until ${until}): ${certificate.fingerprint}\n`
}

const LOCAL_HINT = 'To let a browser on this computer that is already signed in open tunnels'

type PresentOptions = Pick<UpOptions, 'open' | 'ticket' | 'output'> & { readonly directory: string }

/** @returns the window that was opened; disposing of it closes it */
async function present(running: Running, options: PresentOptions): Promise<Disposable | undefined> {
  const { open, ticket, output, directory } = options
  const { url, adminEmail, adminPasswordFile, pid, signInUrl, localUrl, signInPage } = running
  const line = { url: ticket ? signInUrl : url, adminEmail, adminPasswordFile, pid }
  output.data(
    line,
    () =>
      `\nBerth is ready: ${url}\n${fingerprintText(running)}Sign in once with this link: ${signInUrl}\n${LOCAL_HINT}: ${localUrl}\n${appsProposal(running)}`,
  )
  if (open === 'nothing' || !hasDisplay()) return undefined
  const opened = await openConsole({
    root: ROOT,
    profile: join(directory, 'console-window'),
    signInUrl,
    signInPage,
    open,
  })
  if (!opened) output.note('The browser could not be opened. Use the link above.')
  return opened
}

/** Asks the agent whether it isolates sessions. @returns undefined if the agent ended before it could answer */
async function askIsolation(agent: Supervised): Promise<PartlyIsolated | undefined> {
  const asked = agent.current.ask('get_isolation') as Promise<{ readonly reason: PartlyIsolated }>
  return (await asked.catch(() => undefined))?.reason
}

interface AgentDeps extends SupervisorDeps {
  /** The engine has another agent, so this computer's was not started. */
  readonly onAbsent: (why: WireError) => void
}

async function startAgent(manager: Supervised, spec: SpecOf, deps: AgentDeps): Promise<Supervised | undefined> {
  const start = async (joinString: string, more: Record<string, string> = {}) => {
    const environment = { BERTH_MANAGER_URL: String(manager.current.ready.url), BERTH_JOIN: joinString, ...more }
    const agentSpec = { ...spec('agent', 'agent/main', environment), readyWithinMs: AGENT_WITHIN_MS }
    return await supervise(agentSpec, deps)
  }
  const { join: joinString } = (await manager.current.ask('create_join_token')) as { join: string }
  try {
    return await start(joinString)
  } catch (error) {
    if (!isAppError(error) || error.code !== 'engine_already_managed') throw error
    const { owner, managerId } = error.detail
    // The engine was claimed from another data directory of the same Berth: a restored one, or one whose agent folder is lost.
    if (typeof owner === 'string' && managerId === manager.current.ready.managerId) {
      try {
        const { join: replacing } = (await manager.current.ask('create_replace_token', owner)) as { join: string }
        const agent = await start(replacing, { BERTH_AGENT_REPLACE: '1' })
        deps.note('The agent of this computer replaced the earlier agent of this Docker Engine. Its sessions stay.')
        return agent
      } catch (again) {
        deps.note(`The agent of this computer could not replace the earlier one: ${String(again)}`)
      }
    }
    // The console is useful without the agent, and is needed to fix the problem.
    deps.note(
      'Another Berth has sessions on this Docker Engine, so Berth started without an agent. Start it with the data directory of that Berth, or see docs/admin/agents.md, "A host that has lost its data directory".',
    )
    deps.onAbsent(toWireError(error))
    return undefined
  }
}

/** Starts both or none: if one fails, the other is stopped before the failure is passed on. */
async function startTogether<A extends AsyncDisposable | undefined, B extends AsyncDisposable>(
  first: Promise<A>,
  second: Promise<B>,
): Promise<[A, B]> {
  const [a, b] = await Promise.allSettled([first, second])
  if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value]
  if (a.status === 'fulfilled') await a.value?.[Symbol.asyncDispose]()
  if (b.status === 'fulfilled') await b.value[Symbol.asyncDispose]()
  throw (a.status === 'rejected' ? a.reason : (b as PromiseRejectedResult).reason) as Error
}
