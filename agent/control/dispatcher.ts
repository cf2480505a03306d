import { type Socket } from 'node:net'
import { type FromAgent, REQUESTS, type RequestInput, type RequestName, type RequestReply } from '#agent/contract'
import { AppError, because, toWireError } from '#manager/contract'
import { type Log } from '../log.ts'

/** The manager that sent a request: what a handler needs to fetch from it. */
export interface Requester {
  readonly url: string
  /** Whether the manager has proven that it holds the pinned key. */
  readonly proven: boolean
  /** Opens another connection to it. */
  readonly dial: (signal: AbortSignal) => Promise<Socket>
}

/** Handlers by the name of their request. An agent that lacks one does not compile. */
export type Handlers = {
  readonly [N in RequestName]: (
    input: RequestInput<N>,
    signal: AbortSignal,
    from: Requester,
  ) => Promise<RequestReply<N>>
}

export interface Dispatcher {
  request(message: { id: number; name: string; input: unknown }, reply: (message: FromAgent) => void): void
  /** Call when the manager has given up on the request. */
  cancel(id: number): void
  /** Call when the connection is gone: work continues (the next report has its outcome), replies are dropped. */
  forget(): void
  readonly isIdle: () => boolean
}

/** Request ids count per connection: create one dispatcher for each. */
export function createDispatcher(handlers: Handlers, from: Requester, log: Log): Dispatcher {
  const running = new Map<number, AbortController>()
  let forgotten = false

  async function run(name: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    if (!isRequestName(name)) throw new AppError('bad_request', because('request_unknown', { request: name }))
    const parsed = REQUESTS[name].input.safeParse(input)
    if (!parsed.success)
      throw new AppError('bad_request', because('agent_refuses_request', { text: parsed.error.message }))
    // The input was parsed by the schema of this name, so it fits the handler of this name.
    const handler = handlers[name] as (input: unknown, signal: AbortSignal, from: Requester) => Promise<unknown>
    return handler(parsed.data, signal, from)
  }

  return {
    request({ id, name, input }, reply) {
      const controller = new AbortController()
      running.set(id, controller)
      run(name, input, controller.signal)
        .then(value => ({ type: 'reply' as const, id, value }))
        .catch((error: unknown) => {
          const wire = toWireError(error)
          log.warn({ request: name, code: wire.code, err: error }, 'a request failed')
          return { type: 'reply' as const, id, error: wire }
        })
        .then(message => {
          running.delete(id)
          if (!forgotten) reply(message)
        })
        .catch((error: unknown) => log.error({ err: error }, 'a reply could not be sent'))
    },
    cancel(id) {
      running.get(id)?.abort(new AppError('kernel_create_failed', because('request_cancelled')))
    },
    forget() {
      forgotten = true
    },
    isIdle: () => running.size === 0,
  }
}

function isRequestName(name: string): name is RequestName {
  return Object.hasOwn(REQUESTS, name)
}
