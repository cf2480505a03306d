import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type FromAgent, type FromManager, type ManagerAddress, type Welcome } from '#agent/contract'
import { AppError, isErrorCode } from '#manager/contract'
import { type z } from 'zod'
import { type Log } from '../log.ts'
import { backoffMs } from './backoff.ts'
import { createDispatcher, type Handlers } from './dispatcher.ts'
import { isOnThisMachine } from './join-string.ts'
import { dialManager, type Link } from './link.ts'
import { type CurrentReport, createReporter, type Reporter } from './reporter.ts'

export interface ManagerConnection {
  readonly url: string
  readonly fingerprint: string | undefined
  /** Its key is pinned, and it has shown that it has it. */
  readonly proven: boolean
}

export interface ManagerLinkDeps {
  /** Asked before every attempt. @throws `config_invalid` */
  readonly where: () => Omit<ManagerConnection, 'proven'>
  /** Answers the challenge; the connection is worth nothing before. */
  readonly introduce: (hello: Introduction) => Promise<Accepted>
  /** Another connection of this agent goes to that process already: one is enough. */
  readonly isTaken: (processId: string) => boolean
  /** Resolves when that may be different. */
  readonly freed: () => Promise<unknown>
  /** The connection to a process is over. */
  readonly onFreed: () => void
  readonly report: () => CurrentReport
  readonly handlers: Handlers
  /** After each welcome; the returned thing lives as long as the connection. */
  readonly onWelcome: (welcome: z.infer<typeof Welcome>, connection: ManagerConnection) => Promise<AsyncDisposable>
  /** The first report has been sent. */
  readonly onReady: () => void
  readonly onManagers: (managers: readonly ManagerAddress[]) => void
  /** @returns whether trying again is of no use */
  readonly onFailure: (error: unknown) => 'stop' | 'again' | 'later'
  readonly log: Log
}

export interface Introduction {
  readonly where: Omit<ManagerConnection, 'proven'>
  readonly challenge: Extract<FromManager, { type: 'challenge' }>
  readonly agentNonce: string
  send(message: FromAgent): void
  /** @throws the refusal */
  welcome(): Promise<z.infer<typeof Welcome>>
}

export interface Accepted {
  readonly welcome: z.infer<typeof Welcome>
  readonly proven: boolean
}

/** One control connection, for as long as it is wanted. */
export interface ManagerLink extends AsyncDisposable {
  /** The process that it is connected to. */
  readonly processId: string | undefined
  changed(): void
  notify(message: FromAgent): void
}

export function startManagerLink(deps: ManagerLinkDeps): ManagerLink {
  const { log } = deps
  const stop = new AbortController()
  let current: { link: Link; reporter: Reporter } | undefined
  let processId: string | undefined

  async function connectOnce(onConnected: () => void): Promise<void> {
    const where = deps.where()
    const agentNonce = randomBytes(32).toString('base64url')
    using link = await dialManager({ ...where, nonce: agentNonce }, stop.signal)
    using _closed = onAbort(stop.signal, () => link[Symbol.dispose]())
    const messages = link.messages()[Symbol.asyncIterator]()
    const challenge = await expectChallenge(messages)
    const peer = challenge.processId ?? where.url
    if (deps.isTaken(peer)) throw new Taken()
    processId = peer
    try {
      const { welcome, proven } = await deps.introduce({
        where,
        challenge,
        agentNonce,
        send: message => link.send(message),
        welcome: () => expectMessage(messages, 'welcome'),
      })
      onConnected()
      await serve(link, messages, welcome, { ...where, proven })
    } finally {
      processId = undefined
      deps.onFreed()
    }
  }

  async function serve(
    link: Link,
    messages: AsyncIterator<FromManager>,
    welcome: z.infer<typeof Welcome>,
    connection: ManagerConnection,
  ): Promise<void> {
    const dispatcher = createDispatcher(deps.handlers, log)
    using reporter = createReporter(deps.report, message => link.send(message))
    await using _data = await deps.onWelcome(welcome, connection)
    current = { link, reporter }
    reporter.now()
    deps.onReady()
    log.info({ managerId: welcome.managerId, url: connection.url }, 'connected to the manager')
    try {
      for (let next = await messages.next(); !next.done; next = await messages.next()) {
        const message = next.value
        if (message.type === 'request') dispatcher.request(message, reply => link.send(reply))
        else if (message.type === 'cancel') dispatcher.cancel(message.id)
        else if (message.type === 'managers') deps.onManagers(message.managers)
        else if (message.type === 'refused') throw refusal(message)
      }
    } finally {
      current = undefined
      dispatcher.forget()
    }
  }

  // A call, because it changes while something is awaited.
  const stopping = () => stop.signal.aborted
  const aborted = new Promise<void>(resolve => stop.signal.addEventListener('abort', () => resolve(), { once: true }))

  async function run(): Promise<void> {
    let attempt = 0
    while (!stopping()) {
      try {
        await connectOnce(() => (attempt = 0))
        if (!stopping()) log.warn({}, 'the manager closed the connection')
      } catch (error) {
        if (stopping()) break
        if (error instanceof Taken) {
          await Promise.race([deps.freed(), aborted])
          continue
        }
        const verdict = deps.onFailure(error)
        if (verdict === 'stop') return
        if (verdict === 'again') continue
        if (attempt === 0) log.warn({ err: error }, 'the manager cannot be reached')
      }
      const pause = backoffMs(attempt++, Math.random(), { local: isOnThisMachine(new URL(deps.where().url)) })
      await delay(pause, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return {
    get processId() {
      return processId
    },
    changed: () => current?.reporter.soon(),
    notify: message => current?.link.send(message),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

class Taken extends Error {}

async function expectMessage<T extends FromManager['type']>(
  messages: AsyncIterator<FromManager>,
  type: T,
): Promise<Extract<FromManager, { type: T }>> {
  const next = await messages.next()
  if (next.done) throw new Error('the manager closed the connection')
  if (next.value.type === 'refused') throw refusal(next.value)
  if (next.value.type !== type) throw new Error(`the manager sent ${next.value.type} instead of ${type}`)
  return next.value as Extract<FromManager, { type: T }>
}

/** Whoever refuses before it has been asked to prove itself may be anybody: nothing to give up for. */
async function expectChallenge(
  messages: AsyncIterator<FromManager>,
): Promise<Extract<FromManager, { type: 'challenge' }>> {
  try {
    return await expectMessage(messages, 'challenge')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError('unavailable', { why: error.detail.why ?? error.message }, { cause: error })
  }
}

function refusal({ code, message }: { code: string; message: string }): AppError {
  return new AppError(isErrorCode(code) ? code : 'unavailable', { why: message })
}

function onAbort(signal: AbortSignal, act: () => void): Disposable {
  signal.addEventListener('abort', act)
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', act) }
}
