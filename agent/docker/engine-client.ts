import { Agent, type ClientRequestArgs } from 'node:http'
import { type Duplex } from 'node:stream'
import { inspect } from 'node:util'
import Docker from 'dockerode'
import { z } from 'zod'
import { AppError, because } from '#manager/contract'
import { isPodman } from '../contract/index.ts'

/** Two clients of one engine, because a client with a timeout cuts its own idle streams. */
export interface EngineClient {
  /** For calls that answer soon. If the engine does not respond, they fail after CALL_TIMEOUT_MS. */
  readonly calls: Docker
  /** For events, stats, pulls, execs and stops: no timeout; end them with an AbortSignal or by destroying the stream. */
  readonly streams: Docker
  /**
   * Chooses the version of the API for all later calls; before that, the engine uses its newest. Call it each time the engine comes (back):
   * it may have been replaced.
   *
   * @throws AppError `config_invalid` for Podman, whose answers differ from Docker's in ways that no test covers
   */
  negotiate(): Promise<void>
}

/** Newest version of the API with which the engine tests run: newer engines are asked to answer in it. */
const NEWEST_API = '1.51'

const ApiVersions = z.object({
  ApiVersion: z.string(),
  MinAPIVersion: z.string().optional(),
  Components: z.array(z.object({ Name: z.string() })).nullish(),
})

const CALL_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 3_000

/** @param dockerHost `unix:///path` or `tcp://host:port`; default: the engine of this machine. Does not connect yet. */
export function createEngineClient(dockerHost?: string): EngineClient {
  const where = parseDockerHost(dockerHost)
  const connect = { ...where, agent: new EngineAgent() }
  const withTimeout = () => new Docker({ ...connect, timeout: CALL_TIMEOUT_MS })
  const [calls, streams, unversioned] = [withTimeout(), new Docker(connect), withTimeout()]
  return {
    calls,
    streams,
    async negotiate() {
      const reply: unknown = await unversioned.version()
      const found = ApiVersions.parse(reply)
      if (found.Components?.some(({ Name }) => isPodman(Name)))
        throw new AppError('config_invalid', because('engine_is_podman'))
      const version = `v${chooseApiVersion(found)}`
      for (const { modem } of [calls, streams] as readonly { modem: { version?: string } }[]) modem.version = version
    },
  }
}

/** The engine's newest version, but at most the newest tested one; if the engine no longer supports that, its oldest. */
export function chooseApiVersion({
  ApiVersion,
  MinAPIVersion = '0',
}: Pick<z.infer<typeof ApiVersions>, 'ApiVersion' | 'MinAPIVersion'>): string {
  const inOrder = (versions: readonly string[]) =>
    versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const [older = NEWEST_API] = inOrder([ApiVersion, NEWEST_API])
  return inOrder([older, MinAPIVersion]).at(-1) ?? older
}

/**
 * Connections with a timeout for connecting; docker-modem's own `connectionTimeout` runs until the response, and would cut every slow call.
 * No connection is kept alive: an engine that shuts down still answers on old ones, and a restarted one resets them.
 *
 * docker-modem prints the options of each request without a depth limit (`util.inspect`, even if the text is not used). This class
 * therefore prints as its name only: printing its sockets and everything reachable from them would block the process for up to a minute per
 * request.
 */
class EngineAgent extends Agent {
  constructor() {
    super({ keepAlive: false })
  }

  [inspect.custom](): string {
    return 'EngineAgent'
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const socket = super.createConnection(options, callback)
    if (!socket) return socket
    const late = Object.assign(new Error('the engine did not accept a connection'), { code: 'ETIMEDOUT' })
    const timer = setTimeout(() => socket.destroy(late), CONNECT_TIMEOUT_MS)
    const settle = () => clearTimeout(timer)
    socket.once('connect', settle)
    socket.once('close', settle)
    return socket
  }
}

export function parseDockerHost(
  dockerHost = 'unix:///var/run/docker.sock',
): { socketPath: string } | { protocol: 'http'; host: string; port: number } {
  const url = URL.canParse(dockerHost) ? new URL(dockerHost) : undefined
  if (url?.protocol === 'unix:' && url.pathname !== '') return { socketPath: url.pathname }
  if (url?.protocol === 'tcp:' && url.hostname !== '') {
    return { protocol: 'http', host: url.hostname, port: Number(url.port || 2375) }
  }
  throw new AppError('config_invalid', because('docker_host_form', { value: dockerHost }))
}

/** HTTP status of an answer of the engine; undefined if there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined
}

export function isMissing(error: unknown): boolean {
  return statusOf(error) === 404
}

/** The engine's own message, without the HTTP text around it. */
export function engineMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const body = 'json' in error ? error.json : undefined
  if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string')
    return body.message
  // For a stream, docker-modem keeps only the text: "(HTTP code 500) server error - no such host ".
  return error.message.replace(/^\(HTTP code \d+\) [^-]* - /, '').trim()
}

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
/** These codes count only for the engine's socket; for any other file they say nothing about the engine. */
const NO_SOCKET = new Set(['ENOENT', 'EACCES'])

/** Whether the engine gave no answer at all. */
export function isEngineUnreachable(error: unknown): boolean {
  if (!(error instanceof Error) || statusOf(error) !== undefined) return false
  const { code = '', syscall } = error as NodeJS.ErrnoException
  if (NO_SOCKET.has(code)) return syscall === 'connect'
  return UNREACHABLE.has(code) || error.message.includes('socket hang up')
}

/** Same as `isEngineUnreachable`, but also true for an AppError made from such an error. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof AppError ? error.code === 'engine_unreachable' : isEngineUnreachable(error)
}

/** The engine has no error code for a full disk. The kernel's limits on keys, control groups and watches cause the same message. */
const isFullDisk = (text: string) =>
  /no space left on device|disk quota exceeded/i.test(text) && !/keyring|cgroup|inotify|fsnotify|epoll/i.test(text)

/** Converts an engine error to an AppError; a full disk becomes `disk_full`. @param code error code for any other answer of the engine */
export function fromEngine(error: unknown, code: 'kernel_create_failed' | 'internal' | 'image_not_found'): AppError {
  const text = engineMessage(error)
  if (isEngineUnreachable(error))
    return new AppError('engine_unreachable', because('docker_says', { text }), { cause: error })
  if (isFullDisk(text)) {
    return new AppError('disk_full', because('docker_disk_full'), { cause: error })
  }
  return new AppError(code, because('docker_says', { text }), { cause: error })
}
