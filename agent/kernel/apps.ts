import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createKeyedMutex } from '#base/mutex'
import { type KernelApp } from '#agent/contract'
import {
  AppError,
  type AppOptions,
  because,
  type Because,
  type ForwardedPort,
  forwardedPort,
  together,
} from '#manager/contract'
import { type EngineClient, engineMessage, isEngineUnreachable } from '../docker/engine-client.ts'
import { chooseOptions } from '../images/app-options.ts'
import { createServiceDefinitions } from '../images/service-definitions.ts'
import { type ServiceCommand } from '../images/service-definition.ts'
import { tailBytes } from '../docker/log-frames.ts'
import { createDemuxer } from '../docker/demux.ts'
import { processesOf } from '../limits/container-processes.ts'
import { endListener } from './end-listener.ts'
import { isListening } from './listening.ts'
import { type KernelFiles } from './kernel-files.ts'
import { startDirectory } from './lost-home.ts'
import { type SshRenewal } from './renew-ssh.ts'
import { waitForStart } from './session-start.ts'
import { runningSecret } from './running-secret.ts'
import { type HowToStart, type RunningKernel, type StartedApp } from '../running-kernel.ts'

export interface AppsDeps {
  readonly engine: EngineClient
  readonly files: Pick<KernelFiles, 'readSecrets' | 'writeSecrets' | 'hasStartScript'>
  readonly sshRenewal: Pick<SshRenewal, 'keysOf' | 'commandOf'>
  readonly find: (kernelId: string) => RunningKernel | undefined
}

const DEFAULT_TIMEOUT_MS = 30_000
/** Time for the user's program to open a forwarded port: long enough for a program that restarts, short enough to report that none runs. */
const PORT_TIMEOUT_MS = 3_000
const POLL_MS = 50
const OUTPUT_BYTES = 16 * 1024
/** Bytes from the end of the output that the error shows to the user. */
const SHOWN_BYTES = 2 * 1024
/** A shorter piece than this from the end of a secret reveals nothing. */
const SECRET_HINT = 4

interface Start {
  readonly timeoutMs: number
  readonly options: AppOptions | undefined
}

const ignore = () => undefined
const NOTHING_ALLOWED = { arguments: [], environment: [], defaults: {} }

/** An app's main process in the container. It may outlive the agent; then only the port shows whether the app runs. */
interface AppProcess {
  output: Buffer
  /** The secret of the app; errors that show output leave it out. */
  readonly secret: string
  /** Undefined while it runs. */
  exitCode: number | undefined
}

/**
 * Starts the apps of a session by `docker exec`, as the session's user.
 *
 * Threat model: a secret is random per kernel and app, kept in a file that only the agent reads, and passed to the app in its
 * own environment or arguments. Anyone inside the session may read it there, because it is their session.
 */
export function createApps({ engine, files, sshRenewal, find }: AppsDeps): {
  ensure(kernelId: string, app: string, how?: HowToStart): Promise<StartedApp>
} {
  const starting = new Map<string, Promise<StartedApp>>()
  /** Processes of running apps, by container id and app name. */
  const processes = new Map<string, AppProcess>()
  /** Options of the latest start of an app, by container id and app name: a later start without options uses them again. */
  const chosen = new Map<string, AppOptions>()
  const definitions = createServiceDefinitions(engine)
  /** Apps of one kernel start concurrently, and their secrets share one file. */
  const inTurn = createKeyedMutex()

  async function start(kernel: RunningKernel, app: KernelApp, how: Start): Promise<StartedApp> {
    const { timeoutMs } = how
    const secret = app.secret === 'none' ? '' : await secretOf(kernel, app)
    // Do this first: it ends an SSH server whose keys are lost.
    if (isSshServer(app)) await sshRenewal.keysOf(kernel)
    const started: StartedApp = { app, inject: injectionOf(app, secret) }
    const key = `${kernel.containerId}/${app.name}`
    const isOpen = await isListening(engine, kernel, app.port)
    if (isOpen && (how.options === undefined || isSame(how.options, chosen.get(key)))) return started
    const options = how.options ?? chosen.get(key)
    // SSH does not wait: after a login the user can watch the script, and end it.
    if (!isOpen && !isSshServer(app)) await waitForStart(engine, files, { kernel, app: app.name, timeoutMs })
    // Do this before ending the running app, so that refused options do not end it.
    const what = await commandOf(kernel, app, { secret, options })
    if (isOpen && what.command.length === 0) throw failure(app, because('app_without_options'), undefined)
    if (isOpen) await end(kernel, app)
    if (options) chosen.set(key, options)
    let running = processes.get(key)
    if (what.command.length > 0 && !running) {
      running = await execute(engine, { kernel, what, secret, onEnd: () => processes.delete(key) })
      processes.set(key, running)
    }
    const deadline = performance.now() + timeoutMs
    for (;;) {
      // Read the exit code first, then the port: a server that opened its port and daemonized has started.
      const exitCode = running?.exitCode
      if (await isListening(engine, kernel, app.port)) return started
      if (exitCode !== undefined && exitCode !== 0) throw failure(app, because('app_ended', { exitCode }), running)
      if (find(kernel.kernelId)?.containerId !== kernel.containerId)
        throw failure(app, because('session_has_ended'), running)
      if (performance.now() > deadline) {
        throw failure(
          app,
          because('app_port_closed', { port: app.port, seconds: Math.round(timeoutMs / 1000) }),
          running,
        )
      }
      await delay(POLL_MS)
    }
  }

  /** Ends an app so that it can be started with other options. */
  async function end(kernel: RunningKernel, app: KernelApp): Promise<void> {
    const key = `${kernel.containerId}/${app.name}`
    if (!(await endListener(engine, kernel, app.port))) throw failure(app, because('app_does_not_end'), undefined)
    processes.delete(key)
  }

  /** A forwarded port belongs to a program of the user: nothing is started for it, and it has no secret. */
  async function waitForPort(kernel: RunningKernel, forwarded: ForwardedPort): Promise<StartedApp> {
    const app: KernelApp = { ...forwarded, command: [], environ: {}, secret: 'none' }
    const deadline = performance.now() + PORT_TIMEOUT_MS
    while (!(await isListening(engine, kernel, app.port))) {
      if (performance.now() > deadline) {
        throw new AppError('port_silent', {
          port: app.port,
          ...because('nothing_listens', { port: app.port }),
        })
      }
      await delay(POLL_MS)
    }
    return { app, inject: null }
  }

  function secretOf(kernel: RunningKernel, app: KernelApp): Promise<string> {
    const { kernelId, pid, containerId } = kernel
    return inTurn(kernelId, async () => {
      const secrets = await files.readSecrets(kernelId)
      const known = secrets[app.name]
      if (known !== undefined) return known
      const running = await runningSecret(app, processesOf(pid, containerId))
      const secret = running ?? randomBytes(24).toString('hex')
      await files.writeSecrets(kernelId, { ...secrets, [app.name]: secret })
      return secret
    })
  }

  /** The command from the image's label, or from a file in the image; empty if the port opens by itself. */
  async function commandOf(
    kernel: RunningKernel,
    app: KernelApp,
    { secret, options }: { readonly secret: string; readonly options: AppOptions | undefined },
  ): Promise<ServiceCommand> {
    const renewed = isSshServer(app) ? await sshRenewal.commandOf(kernel, app) : undefined
    if (renewed) return renewed
    const defined = app.command.length > 0 ? undefined : await definitions.find(kernel.containerId, app, options)
    return defined ?? withOptions(app, fillIn(app, secret), options)
  }

  /** Starts an app of the image, or waits for a forwarded port. @returns undefined if the name is neither */
  function launchOf(kernel: RunningKernel, name: string): ((how: Start) => Promise<StartedApp>) | undefined {
    const app = kernel.apps.find(candidate => candidate.name === name)
    if (app) return how => start(kernel, app, how)
    const port = forwardedPort(name)
    if (!port) return undefined
    return async ({ options }) => {
      chooseOptions(name, NOTHING_ALLOWED, options)
      return await waitForPort(kernel, port)
    }
  }

  return {
    ensure(kernelId, name, { timeoutMs = DEFAULT_TIMEOUT_MS, options } = {}) {
      const kernel = find(kernelId)
      if (!kernel) return Promise.reject(new AppError('kernel_not_found', { kernelId }))
      const launch = launchOf(kernel, name)
      if (!launch) return Promise.reject(new AppError('app_not_found', { app: name }))
      const key = `${kernel.containerId}/${name}`
      const current = starting.get(key)
      if (current && options === undefined) return current
      // A start with options waits for the one in flight, whatever its outcome: that one may use other options.
      const settled = current?.then(ignore, ignore)
      const promise = (settled ? settled.then(() => launch({ timeoutMs, options })) : launch({ timeoutMs, options }))
        .catch((error: unknown) => {
          if (error instanceof AppError) throw error
          const code = isEngineUnreachable(error) ? 'engine_unreachable' : 'app_failed'
          throw new AppError(
            code,
            { app: name, ...because('docker_says', { text: engineMessage(error) }) },
            { cause: error },
          )
        })
        .finally(() => {
          if (starting.get(key) === promise) starting.delete(key)
        })
      starting.set(key, promise)
      return promise
    },
  }
}

interface Execution {
  readonly kernel: RunningKernel
  readonly what: ServiceCommand
  readonly secret: string
  readonly onEnd: () => void
}

/** Runs the command of an app in the container, and follows its output and its end. */
async function execute(engine: EngineClient, { kernel, what, secret, onEnd }: Execution): Promise<AppProcess> {
  const { command, environ } = what
  const exec = await engine.streams.getContainer(kernel.containerId).exec({
    Cmd: [...command],
    Env: Object.entries(environ).map(([name, value]) => `${name}=${value}`),
    User: kernel.user,
    WorkingDir: await startDirectory(kernel.pid),
    AttachStdout: true,
    AttachStderr: true,
  })
  const stream = await exec.start({ hijack: false, stdin: false })
  const process: AppProcess = { output: Buffer.alloc(0), secret, exitCode: undefined }
  const keep = (output: Buffer) => {
    process.output = Buffer.concat([process.output, output]).subarray(-OUTPUT_BYTES)
  }
  stream.on('data', createDemuxer({ stdout: keep, stderr: keep }))
  stream.once('close', () => {
    exec
      .inspect()
      .then(({ ExitCode }) => (process.exitCode = ExitCode ?? 0))
      // The container or the engine is gone: the port shows the rest.
      .catch(() => (process.exitCode = 0))
      .finally(onEnd)
  })
  stream.once('error', () => stream.destroy())
  return process
}

function isSshServer({ name }: KernelApp): boolean {
  return name === 'sshd'
}

function failure(app: KernelApp, why: Because, process: AppProcess | undefined): AppError {
  const output = process ? shown(process).trim() : ''
  return new AppError('app_failed', {
    app: app.name,
    ...(output === '' ? why : together(why, because('end_of_output', { output }))),
  })
}

/** End of the output. The secret is masked before the output is cut, because a part of a secret at the cut would not be recognized. */
function shown({ output, secret }: AppProcess): string {
  return tailBytes(Buffer.from(withoutSecret(output.toString('utf8'), secret)), SHOWN_BYTES).text
}

/**
 * Masks the secret. Servers like to print the address to open, with the secret in it; errors are shown to people, and logs are
 * written to disk.
 */
export function withoutSecret(text: string, secret: string): string {
  if (secret === '') return text
  const masked = text.replaceAll(secret, '***')
  // The kept output may begin in the middle of the secret.
  for (let cut = 1; cut <= secret.length - SECRET_HINT; cut++) {
    if (masked.startsWith(secret.slice(cut))) return `***${masked.slice(secret.length - cut)}`
  }
  return masked
}

/** Fills in the placeholders. Each app has its own origin, so its base URL is always the root. */
export function fillIn(app: KernelApp, secret: string): { command: string[]; environ: Record<string, string> } {
  const values: Record<string, string> = { port: String(app.port), secret, baseUrl: '/' }
  const fill = (text: string) => text.replace(/\{(port|secret|baseUrl)\}/g, (_, name: string) => values[name] ?? '')
  return {
    command: app.command.map(fill),
    environ: Object.fromEntries(Object.entries(app.environ).map(([name, value]) => [name, fill(value)])),
  }
}

/** @throws AppError `app_option_refused` */
function withOptions(
  app: KernelApp,
  { command, environ }: ServiceCommand,
  options: AppOptions | undefined,
): ServiceCommand {
  const { defaults, words, environment } = chooseOptions(app.name, app.allowedOptions ?? NOTHING_ALLOWED, options)
  if (command.length === 0) return { command, environ }
  return { command: [...command, ...defaults, ...words], environ: { ...environ, ...environment } }
}

function isSame(a: AppOptions, b: AppOptions | undefined): boolean {
  const textOf = ({ arguments: words, environment }: AppOptions) => JSON.stringify([words, environment].map(sorted))
  return textOf(a) === textOf(b ?? { arguments: {}, environment: {} })
}

const sorted = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).toSorted(([left], [right]) => (left < right ? -1 : 1))

function injectionOf(app: KernelApp, secret: string): StartedApp['inject'] {
  switch (app.secret) {
    case 'none':
      return null
    case 'jupyter':
      return { header: 'authorization', value: `token ${secret}` }
  }
}
