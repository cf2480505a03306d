import { type RawData, WebSocket } from 'ws'
import { z } from 'zod'
import {
  AGENT_LOST_MS,
  AGENT_NONCE_HEADER,
  CONTROL_PATH,
  CONTROL_PROTOCOL,
  FromManager,
  type FromAgent,
  VIA_HEADER,
} from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { requireSafeUrl } from './join-string.ts'
import { dialDirectly, dialThrough, type Route, type Where } from './reach.ts'

/** A WebSocket to the manager that carries messages instead of frames. */
export interface Link extends Disposable {
  send(message: FromAgent): void
  /** Messages of the types that this agent knows. Ends with the connection; throws if it fails or the manager breaks the protocol. */
  messages(): AsyncIterable<FromManager>
}

/** How a connection is found to be dead. */
interface Pulse {
  /** Time between two pings. */
  readonly everyMs: number
  /** A manager from which nothing has come for this long after a ping counts as vanished. */
  readonly silentMs: number
}

const HANDSHAKE_MS = 10_000
/** A slow manager must not lose its agents: a thousand that connect again would cost it more than the work that waits. */
const PULSE: Pulse = { everyMs: 5_000, silentMs: AGENT_LOST_MS }
const MAX_MESSAGE_BYTES = 16 * 2 ** 20
const KNOWN_TYPES = new Set<string>(FromManager.options.map(({ shape }) => shape.type.value))
/** A message type of a newer manager, unknown to this agent. */
const Newer = z.object({ type: z.string().refine(type => !KNOWN_TYPES.has(type)) })

interface Dialling extends Where {
  readonly nonce: string
  readonly route?: Route | undefined
  readonly onReached?: (() => void) | undefined
}

/**
 * Dials the manager. Threat model: over https with a fingerprint, the agent talks only to the holder of that key, whatever its certificate
 * says. Without a fingerprint, a system authority must vouch for the certificate. Plain http is refused beyond loopback. Nothing secret is
 * sent before this check. The manager signs the nonce.
 */
export async function dialManager(
  { url, fingerprint, nonce, route, onReached }: Dialling,
  signal: AbortSignal,
  pulse = PULSE,
): Promise<Link> {
  const target = new URL(CONTROL_PATH, requireSafeUrl(url))
  target.protocol = target.protocol === 'https:' ? 'wss:' : 'ws:'
  const where = { url, fingerprint }
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(HANDSHAKE_MS)])
  const wire = await (route ? dialThrough(route, where, inTime) : dialDirectly(where, inTime, onReached))
  const socket = new WebSocket(target, [CONTROL_PROTOCOL], {
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    headers: { [AGENT_NONCE_HEADER]: nonce, ...(route ? { [VIA_HEADER]: route.door.processId } : {}) },
    createConnection: () => wire,
  })
  const link = openLink(socket, pulse)
  const onAbort = () => socket.terminate()
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('the connection was closed')))
    })
    return link
  } catch (error) {
    link[Symbol.dispose]()
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function openLink(socket: WebSocket, { everyMs, silentMs }: Pulse): Link {
  const queue: FromManager[] = []
  let wake: (() => void) | undefined
  let ended = false
  let broken: Error | undefined
  /** Time of the first ping after which nothing has come. */
  let askedAt: number | undefined
  const heard = () => (askedAt = undefined)

  const end = (error?: Error) => {
    broken ??= error
    ended = true
    clearInterval(heartbeat)
    wake?.()
  }
  // Heartbeat: a manager whose machine has vanished never closes the socket.
  const ask = () => {
    if (askedAt !== undefined && performance.now() - askedAt >= silentMs) socket.terminate()
    if (socket.readyState !== WebSocket.OPEN) return
    askedAt ??= performance.now()
    socket.ping()
  }
  // After a stall of this process, what has arrived meanwhile is read first.
  const heartbeat = setInterval(() => setImmediate(ask), everyMs)
  heartbeat.unref()

  socket.on('pong', heard)
  socket.on('message', (data: RawData, isBinary) => {
    heard()
    const said = isBinary ? undefined : parseJson(textOf(data))
    if (Newer.safeParse(said).success) return
    const message = FromManager.safeParse(said)
    if (!message.success) {
      end(new Error('the manager sent a message that this agent cannot read'))
      socket.terminate()
      return
    }
    queue.push(message.data)
    wake?.()
  })
  socket.on('error', error => end(error))
  socket.on('close', () => end())

  return {
    send(message) {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
    },
    async *messages() {
      for (;;) {
        const next = queue.shift()
        if (next) yield next
        else if (ended) break
        else await new Promise<void>(resolve => (wake = resolve))
      }
      if (broken) throw broken
    },
    [Symbol.dispose]() {
      end()
      socket.terminate()
    },
  }
}

function textOf(data: RawData): string {
  if (Buffer.isBuffer(data)) return data.toString('utf8')
  return Array.isArray(data) ? Buffer.concat(data).toString('utf8') : Buffer.from(data).toString('utf8')
}
