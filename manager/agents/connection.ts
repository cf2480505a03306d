import { WebSocket } from 'ws'
import { AppError, type AgentId, type ErrorCode, isErrorCode } from '#manager/contract'
import {
  type FromManager,
  type Reply,
  REQUESTS,
  type RequestInput,
  type RequestName,
  type RequestReply,
} from '#agent/contract'
import { type z } from 'zod'

export interface RequestOptions {
  readonly timeoutMs: number
  /** Aborting tells the agent to stop the work where it can. */
  readonly signal?: AbortSignal | undefined
  /** Wait for an agent that was here a moment ago (it or the manager restarted) until it counts as lost. */
  readonly patient?: boolean
}

/** What others may ask of agents. */
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

interface Waiting {
  readonly name: RequestName
  settle(outcome: { value: unknown } | { error: Error }): void
}

/** Requests and replies on one accepted control connection. */
export class AgentConnection {
  readonly agentId: AgentId
  readonly agentName: string
  readonly dataToken: string
  /** Of the agent process; older agents have none. */
  readonly instance: string | undefined
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

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

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  /** Whether the agent at the other end answers a ping in time; one whose host is gone looks open for a while. */
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
    if (!this.open) throw this.#unreachable('It is not connected.')
    const id = ++this.#lastId
    const cancel = () => this.send({ type: 'cancel', id })
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const onAbort = () => {
      cancel()
      reject(abortReason(signal))
    }
    const timer = setTimeout(() => {
      cancel()
      reject(this.#unreachable(`It did not answer ${name} within ${Math.round(timeoutMs / 1000)} s.`))
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

  /** A reply to a request nobody waits for any more is ignored. */
  onReply({ id, value, error }: z.infer<typeof Reply>): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    if (error) {
      const code: ErrorCode = isErrorCode(error.code) ? error.code : 'internal'
      waiting.settle({ error: new AppError(code, { why: error.message, ...error.detail }) })
      return
    }
    const reply = REQUESTS[waiting.name].reply.safeParse(value)
    const broken = () => new AppError('internal', { why: `The agent answered ${waiting.name} in an unknown form.` })
    waiting.settle(reply.success ? { value: reply.data } : { error: broken() })
  }

  /** Ends the connection; every request in flight fails. */
  end(why: string): void {
    for (const waiting of this.#waiting.values()) waiting.settle({ error: this.#unreachable(why) })
    this.#waiting.clear()
    this.#socket.close(1000)
    // A peer that is gone never answers the close frame.
    setTimeout(() => this.#socket.terminate(), 1_000).unref()
  }

  #unreachable(why: string): AppError {
    return new AppError('agent_unreachable', { agentId: this.agentId, why: `Agent ${this.agentName}: ${why}` })
  }
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof Error ? reason : new Error('The request was cancelled.')
}
