import { WebSocket } from 'ws'
import { cleanLines } from '#base/clean-text'
import {
  type AgentId,
  AppError,
  because,
  type Because,
  type CauseSentence,
  type ErrorCode,
  isCauseKey,
  isErrorCode,
  together,
} from '#manager/contract'
import {
  type FromManager,
  type Reply,
  REQUESTS,
  type RequestInput,
  type RequestName,
  type RequestReply,
} from '#agent/contract'
import { z } from 'zod'

export interface RequestOptions {
  readonly timeoutMs: number
  /** Aborting tells the agent to stop the work where it can. */
  readonly signal?: AbortSignal | undefined
  /** Whether to wait for an agent that was connected a moment ago (it or the manager restarted) until it counts as lost. */
  readonly patient?: boolean
}

/** Sends requests to agents. */
export interface AgentRequests {
  /**
   * @throws AppError the agent's error, `agent_unreachable` (not connected, connection lost, or no reply in time);
   *   or the reason of the signal
   */
  request<N extends RequestName>(
    agentId: AgentId,
    name: N,
    input: RequestInput<N>,
    options: RequestOptions,
  ): Promise<RequestReply<N>>
}

/** Sustained rate and burst that an agent may send. Reports of a host with thousands of images are 10 MB. */
export const BYTES_PER_SECOND = 1024 * 1024
const BURST_BYTES = 16 * 1024 * 1024
const MAX_HELD_UP_MS = 15_000
const CHECK_AGAIN_MS = 20

interface Waiting {
  readonly name: RequestName
  settle(outcome: { value: unknown } | { error: Error }): void
}

/** Requests and replies on one accepted control connection. */
export class AgentConnection {
  readonly agentId: AgentId
  readonly agentName: string
  readonly dataToken: string
  /** Instance id of the agent process; older agents have none. */
  readonly instance: string | undefined
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #heldUp: NodeJS.Timeout | undefined
  #resumedAt = -Infinity
  #credit = BURST_BYTES
  #paidAt = performance.now()

  constructor(
    identity: { agentId: AgentId; agentName: string; dataToken: string; instance?: string | undefined },
    socket: WebSocket,
  ) {
    this.agentId = identity.agentId
    this.agentName = identity.agentName
    this.dataToken = identity.dataToken
    this.instance = identity.instance
    this.#socket = socket
  }

  /**
   * Whether reading from the agent is paused, or was paused within this time: messages that it has sent since may still be on their way.
   */
  wasHeldUpWithin(ms: number): boolean {
    return this.#heldUp !== undefined || performance.now() - this.#resumedAt < ms
  }

  /**
   * Applies backpressure: stops reading from an agent that sends more than is processed, or more than any host needs to. The burst covers a
   * few full reports with all images. @param nowMs on any steady clock
   */
  holdUpFor(nowMs: number, bytes: number, isFull: () => boolean): void {
    const earned = ((nowMs - this.#paidAt) / 1000) * BYTES_PER_SECOND
    this.#credit = Math.min(BURST_BYTES, this.#credit + earned) - bytes
    this.#paidAt = nowMs
    if (this.#heldUp || (this.#credit >= 0 && !isFull())) return
    this.#socket.pause()
    const until = nowMs + Math.min(MAX_HELD_UP_MS, (-this.#credit / BYTES_PER_SECOND) * 1000)
    this.#heldUp = setInterval(() => {
      if (performance.now() < until || isFull()) return
      clearInterval(this.#heldUp)
      this.#heldUp = undefined
      this.#resumedAt = performance.now()
      this.#socket.resume()
    }, CHECK_AGAIN_MS)
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  /** Whether the agent answers a ping in time. If its host is gone, the socket still looks open for a while. */
  async isAlive(withinMs: number): Promise<boolean> {
    if (!this.open) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const onPong = () => resolve(true)
    const onClose = () => resolve(false)
    const timer = setTimeout(onClose, withinMs)
    this.#socket.once('pong', onPong)
    this.#socket.once('close', onClose)
    this.#socket.ping()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#socket.off('pong', onPong)
      this.#socket.off('close', onClose)
    }
  }

  send(message: FromManager): void {
    if (this.open) this.#socket.send(JSON.stringify(message))
  }

  async request<N extends RequestName>(
    name: N,
    input: RequestInput<N>,
    { timeoutMs, signal }: RequestOptions,
  ): Promise<RequestReply<N>> {
    signal?.throwIfAborted()
    if (!this.open) throw this.#unreachable(because('agent_not_connected'))
    const id = ++this.#lastId
    const cancel = () => this.send({ type: 'cancel', id })
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const onAbort = () => {
      cancel()
      reject(abortReason(signal))
    }
    const timer = setTimeout(() => {
      cancel()
      reject(this.#unreachable(because('agent_no_answer', { request: name, seconds: Math.round(timeoutMs / 1000) })))
    }, timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#waiting.set(id, {
      name,
      settle: outcome => {
        if ('value' in outcome) resolve(outcome.value)
        else reject(outcome.error)
      },
    })
    try {
      this.send({ type: 'request', id, name, input })
      return (await promise) as RequestReply<N>
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      this.#waiting.delete(id)
    }
  }

  /** Settles a request. A reply to a request that is no longer in flight is ignored. */
  onReply({ id, value, error }: z.infer<typeof Reply>): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    if (error) {
      waiting.settle({ error: errorOf(error) })
      return
    }
    const reply = REQUESTS[waiting.name].reply.safeParse(value)
    const broken = () => new AppError('agent_failed', because('agent_answer_unreadable', { request: waiting.name }))
    waiting.settle(reply.success ? { value: reply.data } : { error: broken() })
  }

  /** Ends the connection; every request in flight fails. */
  end(why: Because): void {
    for (const waiting of this.#waiting.values()) waiting.settle({ error: this.#unreachable(why) })
    this.#waiting.clear()
    clearInterval(this.#heldUp)
    this.#heldUp = undefined
    // A paused socket would not notice that the other end closes.
    this.#socket.resume()
    this.#socket.close(1000)
    // A peer that is gone never answers the close frame.
    setTimeout(() => this.#socket.terminate(), 1_000).unref()
  }

  #unreachable(why: Because): AppError {
    const named = because('agent_named', { agent: this.agentName })
    return new AppError('agent_unreachable', { agentId: this.agentId, ...together(named, why) })
  }
}

/** Error codes that an agent may report. Other codes are about the caller, the manager or its database. */
const CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'app_failed',
  'app_not_found',
  'command_not_found',
  'commands_at_most',
  'disk_full',
  'image_build_failed',
  'image_push_failed',
  'engine_already_managed',
  'engine_busy',
  'engine_unreachable',
  'files_gone',
  'folder_busy',
  'folder_path_taken',
  'image_not_found',
  'image_without_program',
  'kernel_create_failed',
  'kernel_not_found',
  'network_range_taken',
  'port_silent',
  'request_too_large',
  'session_folders_fixed',
  'toolbox_missing',
  'unavailable',
])
/** Details that are passed to the caller. */
const DETAILS = ['app', 'reference', 'kernelId', 'slot', 'needed', 'largest'] as const

/**
 * Converts an agent's error into one that is safe to show in a terminal. The agent chooses the words; the code is
 * limited to CODES.
 */
function errorOf({ code: given, message, detail }: NonNullable<z.infer<typeof Reply>['error']>): AppError {
  const code = isErrorCode(given) && CODES.has(given) ? given : 'agent_failed'
  const told = DETAILS.flatMap(name => {
    const value = detail[name]
    return typeof value === 'string' ? [[name, cleanLines(value, MAX_WHY)] as const] : []
  })
  const text = typeof detail.why === 'string' ? detail.why : message
  return new AppError(code, { ...Object.fromEntries(told), ...causeOf(detail, cleanLines(text, MAX_WHY)) })
}

const MAX_WHY = 4_000
const MOST_SENTENCES = 10

/** The cause that an agent gives, with safe values. A text without a known key is shown as the agent's own words. */
function causeOf({ cause, values, more }: Readonly<Record<string, unknown>>, why: string): Because {
  const further: readonly unknown[] = Array.isArray(more) ? more.slice(0, MOST_SENTENCES) : []
  const sentences = [{ cause, values }, ...further].map(sentenceOf)
  const [first, ...rest] = sentences.filter(one => one !== undefined)
  if (!first || rest.length + 1 < sentences.length) return { why, cause: 'agent_says', values: { text: why } }
  return { why, ...first, ...(rest.length === 0 ? {} : { more: rest }) }
}

function sentenceOf(given: unknown): CauseSentence | undefined {
  const { success, data } = Sentence.safeParse(given)
  if (!success || !isCauseKey(data.cause)) return undefined
  return { cause: data.cause, ...(data.values ? { values: data.values } : {}) }
}

const Value = z.union([z.number(), z.string().transform(text => cleanLines(text, MAX_WHY))])
const Sentence = z.object({ cause: z.string(), values: z.record(z.string().max(50), Value).optional() })

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof Error ? reason : new Error('The request was cancelled.')
}
