import { type ChildProcess, spawn } from 'node:child_process'
import { type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { AppError } from '#manager/contract'
import { type ServerName } from '../config/berth-toml/settings.ts'
import { whenInterrupted } from '../interrupt.ts'
import { serverError } from '../server-error.ts'
import { SERVER_OPTIONS } from '../server-options.ts'
import { childEnvironment } from './child-environment.ts'
import { type HeldPort } from './held-port.ts'
import { createLogFile } from './log-file.ts'

export interface ChildSpec {
  readonly name: ServerName
  /** Script, relative to the working copy or absolute. */
  readonly script: string
  /** Variables added to the inherited ones (`child-environment.ts`). */
  readonly environment: Readonly<Record<string, string>>
  /** Standard error of the process is appended here (`log-file.ts`). */
  readonly logFile: string
  /** Time limit for the ready line. */
  readonly readyWithinMs: number
  /** Port of the server, which gets its connections from us. */
  readonly held?: HeldPort | undefined
}

export interface Child extends AsyncDisposable {
  readonly pid: number
  /** First line of the child's standard output, parsed as JSON. */
  readonly ready: Readonly<Record<string, unknown>>
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /**
   * Sends a request over the private channel between parent and child; `about` names its subject.
   * @throws AppError `internal` with the child's message; `unavailable` if the child has ended
   */
  ask(type: string, about?: string): Promise<unknown>
}

const STOP_WITHIN_MS = 10_000

/**
 * Starts one of our server processes and waits until it is ready.
 *
 * The child ends with us: it watches its IPC channel, so that even a `kill -9` of this process leaves nothing behind.
 *
 * @param signal stops a child that is not ready yet
 * @throws the child's own error, or `unavailable` if it ended or stayed silent, or the reason of the signal
 */
export async function startChild(spec: ChildSpec, signal?: AbortSignal): Promise<Child> {
  signal?.throwIfAborted()
  const process_ = spawn(process.execPath, [...SERVER_OPTIONS, spec.script], {
    env: { ...childEnvironment(spec.name, process.env), ...spec.environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Ctrl-C reaches the whole terminal group; we stop our children ourselves, in order.
    detached: true,
  })
  process_.stderr?.pipe(createLogFile(spec.logFile))
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(resolve => {
    process_.once('exit', (code, signal) => resolve({ code, signal }))
    // Handle every error: an unhandled one would end this process, and the other servers with it.
    process_.on('error', () => resolve({ code: null, signal: null }))
  })
  const stop = () => stopChild(process_, ended)
  try {
    const ready = await Promise.race([firstLine(process_, spec), ...(signal ? [whenInterrupted({ signal })] : [])])
    if (spec.held) handConnections(process_, spec.held)
    return {
      pid: process_.pid ?? 0,
      ready,
      ended,
      ask: (type, about) => ask(process_, { type, about }, ended),
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function firstLine(child: ChildProcess, spec: ChildSpec): Promise<Record<string, unknown>> {
  if (!child.stdout) throw new Error('the child has no standard output')
  const lines = createInterface({ input: child.stdout })
  const line = new Promise<string | undefined>(resolve => {
    lines.once('line', resolve).once('close', () => resolve(undefined))
  })
  const text = await Promise.race([line, later(spec.readyWithinMs)])
  if (text === undefined)
    throw new AppError('unavailable', { why: `The ${spec.name} did not start. See ${spec.logFile}.` })
  const error = serverError(text)
  if (error) throw new AppError(error.code, { why: `See ${spec.logFile}.`, ...error.detail })
  return JSON.parse(text) as Record<string, unknown>
}

const later = (ms: number) => new Promise<undefined>(resolve => setTimeout(() => resolve(undefined), ms).unref())

/** Connections on their way to a child that takes none, because it hangs: as many as a kernel keeps for a server, and some. */
const MOST_SENDING = 1024
/** Time for the last messages of a child that has ended. */
const LAST_MESSAGES_MS = 2_000

/**
 * The child gets each connection with the message `{ type: 'connection', connection }`, and answers `{ taken }` before it reads from it
 * (`base/parent-channel.ts`). Until then we keep the connection open: if the child ends, the next one gets it. A connection that was taken
 * is never given to another child, which would take the middle of a request for the beginning of one.
 */
function handConnections(child: ChildProcess, held: HeldPort): void {
  const sending = new Map<number, Socket>()
  let latest = 0
  const forget = (connection: number) => {
    sending.get(connection)?.destroy()
    sending.delete(connection)
  }
  held.handTo(socket => {
    const connection = ++latest
    sending.set(connection, socket)
    const [oldest = connection] = sending.keys()
    // Strangers who fill a hanging child keep nobody out who comes later.
    if (sending.size > MOST_SENDING) forget(oldest)
    child.send({ type: 'connection', connection }, socket, { keepOpen: true }, () => undefined)
  })
  child.on('message', message => {
    const { taken } = message as { taken?: unknown }
    if (typeof taken === 'number') forget(taken)
  })
  let isGone = false
  const gone = () => {
    if (isGone) return
    isGone = true
    held.hold()
    const late = setTimeout(() => [...sending.keys()].forEach(forget), LAST_MESSAGES_MS)
    // By then every message of the child has been read.
    child.once('close', () => {
      setImmediate(() => {
        clearTimeout(late)
        held.handBack([...sending.values()])
        sending.clear()
      })
    })
  }
  // The end of the channel comes first, but Node does not tell it while connections wait to be sent.
  child.once('disconnect', gone).once('exit', gone)
}

let nextRequest = 1
async function ask(
  child: ChildProcess,
  { type, about }: { type: string; about: string | undefined },
  ended: Promise<unknown>,
): Promise<unknown> {
  const id = nextRequest++
  const reply = Promise.withResolvers<unknown>()
  const onMessage = (message: unknown) => {
    const {
      id: of,
      ok,
      value,
      error,
    } = message as { id?: number; ok?: boolean; value?: unknown; error?: { message?: string } }
    if (of !== id) return
    if (ok) reply.resolve(value)
    else reply.reject(new AppError('internal', { why: error?.message ?? `${type} failed` }))
  }
  child.on('message', onMessage)
  child.send({ id, type, about }, error => {
    if (error) reply.reject(new AppError('unavailable', { why: 'The process has ended.' }, { cause: error }))
  })
  try {
    const gone = ended.then(() => Promise.reject(new AppError('unavailable', { why: 'The process ended meanwhile.' })))
    return await Promise.race([reply.promise, gone])
  } finally {
    child.off('message', onMessage)
  }
}

async function stopChild(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
  await ended
  clearTimeout(kill)
}
