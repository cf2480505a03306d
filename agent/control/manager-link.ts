import { type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { every } from '#base/every'
import { type FromAgent, type FromManager, type ManagerAddress, type Welcome } from '#agent/contract'
import { AppError, isErrorCode } from '#manager/contract'
import { type z } from 'zod'
import { type Log } from '../log.ts'
import { createDispatcher, type Dispatcher, type Handlers } from './dispatcher.ts'
import { isOnThisMachine } from './join-string.ts'
import { type Link } from './link.ts'
import { canBeDialled, openLink } from './open-link.ts'
import { dialDirectly, dialThrough, type Route, type Where } from './reach.ts'
import { reconnectPauseMs } from './reconnect-pause.ts'
import { type CurrentReport, createReporter, type Heard, type Reporter } from './reporter.ts'

export interface ManagerConnection extends Where {
  /** True if the manager has proven that it holds the pinned key. */
  readonly proven: boolean
  /** Opens another connection, indirect if this one is indirect. */
  readonly dial: (signal: AbortSignal) => Promise<Socket>
}

export interface ManagerLinkDeps {
  /** Address of the manager, read before every attempt. @throws `config_invalid` */
  readonly where: () => Where
  /** Indirect route to the manager, for use if it cannot be dialled directly; read before every attempt. */
  readonly route: () => Route | undefined
  /** Answers the challenge; the connection cannot be used before that. */
  readonly introduce: (hello: Introduction) => Promise<Accepted>
  /** Whether another connection of this agent already goes to that process: one is enough. */
  readonly isTaken: (processId: string) => boolean
  /** Resolves when `isTaken` may have changed. */
  readonly freed: () => Promise<unknown>
  /** Called when the connection to a process is over. */
  readonly onFreed: () => void
  readonly report: () => CurrentReport
  readonly onHeard: (report: CurrentReport, heard: Heard) => void
  readonly handlers: Handlers
  /** Called after each welcome; the returned resource lives as long as the connection. */
  readonly onWelcome: (welcome: z.infer<typeof Welcome>, connection: ManagerConnection) => Promise<AsyncDisposable>
  /** Called when the manager knows this agent's identity and resources, so that it can request sessions. */
  readonly onReady: () => void
  readonly onManagers: (managers: readonly ManagerAddress[]) => void
  /** @returns `stop`: no further attempt; `again`: next attempt at once; `later`: next attempt after the back-off */
  readonly onFailure: (error: unknown) => 'stop' | 'again' | 'later'
  /** Pauses for a manager on this machine; undefined: by its address. */
  readonly isLocal: boolean | undefined
  readonly log: Log
}

export interface Introduction {
  readonly where: Where
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

/** Keeps one control connection to a manager: redials until it is disposed. */
export interface ManagerLink extends AsyncDisposable {
  /** The manager process at the other end of the connection. */
  readonly processId: string | undefined
  /** Means to reach other managers through this one; set only while this link is connected directly. */
  readonly door: Route['door'] | undefined
  /** Call when the list of managers has changed: skips the wait before the next attempt, or before the next check for a direct route. */
  wake(): void
  changed(): void
  notify(message: FromAgent): void
}

/** Interval of the check whether a manager reached through another one can be dialled directly by now. */
const STRAIGHTEN_MS = 30_000

export function startManagerLink(deps: ManagerLinkDeps): ManagerLink {
  const { log } = deps
  const stop = new AbortController()
  let current: { link: Link; reporter: Reporter } | undefined
  let processId: string | undefined
  let door: Route['door'] | undefined
  /** Aborts a pause, or an attempt that has not succeeded yet. */
  let trying = new AbortController()
  let isStraightOnly = true
  /** Whether the manager's computer has taken the connection of the present attempt. */
  let isReached = false
  let isPausing = false
  let straightenNow: (() => unknown) | undefined
  /** The last direct handshake failed, perhaps at a stranger: if there is a route, the next attempt uses only that. */
  let isStranger = false

  async function connectOnce(onConnected: () => void): Promise<void> {
    const where = deps.where()
    const route = deps.route()
    isStraightOnly = route === undefined
    const opening = AbortSignal.any([stop.signal, trying.signal])
    isReached = false
    const onReached = () => (isReached = true)
    const opened = await openLink({ where, route, isDirectUseless: isStranger, onReached }, opening)
    using link = opened.link
    using _closed = onAbort(stop.signal, () => link[Symbol.dispose]())
    isStranger = false
    const messages = link.messages()[Symbol.asyncIterator]()
    const challenge = await expectChallenge(messages)
    const peer = challenge.processId ?? where.url
    if (deps.isTaken(peer)) throw new Taken()
    processId = peer
    try {
      const { welcome, proven } = await deps
        .introduce({
          where,
          challenge,
          agentNonce: opened.nonce,
          send: message => link.send(message),
          welcome: () => expectMessage(messages, 'welcome'),
        })
        .catch((error: unknown) => {
          isStranger = opened.route === undefined
          throw error
        })
      onConnected()
      const { dataToken } = welcome
      if (!opened.route) door = { ...where, processId: peer, dataToken, proven }
      await serve(link, messages, welcome, { ...where, proven, dial: dialOf(where, deps.route, opened.route) })
    } finally {
      processId = undefined
      door = undefined
      deps.onFreed()
    }
  }

  async function serve(
    link: Link,
    messages: AsyncIterator<FromManager>,
    welcome: z.infer<typeof Welcome>,
    connection: ManagerConnection,
  ): Promise<void> {
    const dispatcher = createDispatcher(deps.handlers, connection, log)
    using reporter = createReporter(deps.report, link, deps.onHeard)
    await using _data = await deps.onWelcome(welcome, connection)
    current = { link, reporter }
    reporter.now()
    log.info(
      { managerId: welcome.managerId, url: connection.url, direct: door !== undefined },
      'connected to the manager',
    )
    const how = { where: connection, dispatcher, signal: stop.signal, log }
    using straightening = door ? undefined : every(STRAIGHTEN_MS, () => straighten(link, how))
    straightenNow = straightening?.now
    try {
      for (let next = await messages.next(); !next.done; next = await messages.next()) {
        const message = next.value
        if (message.type === 'request') dispatcher.request(message, reply => link.send(reply))
        else if (message.type === 'cancel') dispatcher.cancel(message.id)
        else if (message.type === 'managers') deps.onManagers(message.managers)
        else if (message.type === 'taken_up') {
          reporter.takenUp(message.sequence, message)
          deps.onReady()
        } else if (message.type === 'refused') throw refusal(message)
      }
    } finally {
      current = undefined
      straightenNow = undefined
      dispatcher.forget()
    }
  }

  // A function, because the value changes during an await.
  const stopping = () => stop.signal.aborted
  const aborted = new Promise<void>(resolve => stop.signal.addEventListener('abort', () => resolve(), { once: true }))

  async function run(): Promise<void> {
    let attempt = 0
    /** Reason of the last failure that was logged. */
    let said: string | undefined
    while (!stopping()) {
      trying = new AbortController()
      let refused = false
      try {
        await connectOnce(() => {
          attempt = 0
          said = undefined
        })
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
        refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
        const reason = reasonOf(error)
        // An absent manager is logged once. A refusal, e.g. because of another key, needs an administrator, so it is logged each time.
        if (reason !== said || (error instanceof AppError && error.code === 'forbidden'))
          log.warn({ err: error, why: reason }, 'the manager cannot be reached')
        said = reason
      }
      const local = deps.isLocal ?? isOnThisMachine(new URL(deps.where().url))
      const pause = reconnectPauseMs(attempt++, Math.random(), { local, refused })
      isPausing = true
      await delay(pause, undefined, { signal: AbortSignal.any([stop.signal, trying.signal]) }).catch(() => undefined)
      isPausing = false
    }
  }

  const running = run()
  return {
    get processId() {
      return processId
    },
    get door() {
      return current && door
    },
    wake() {
      straightenNow?.()
      // An attempt that may take an indirect route, or has reached the manager, is left alone. Another direct attempt starts again: there may be a
      // route now.
      if (!current && ((isStraightOnly && !isReached) || isPausing))
        trying.abort(new Error('the list of managers changed'))
    },
    changed: () => current?.reporter.soon(),
    notify: message => current?.link.send(message),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

/** The manager in between may have changed by the time of the call, so an indirect route is looked up for each call. */
function dialOf(where: Where, routeNow: ManagerLinkDeps['route'], route: Route | undefined): ManagerConnection['dial'] {
  if (!route) return signal => dialDirectly(where, signal)
  return async signal => {
    const now = routeNow()
    if (!now)
      throw new AppError('unavailable', {
        why: `${where.url} cannot be reached now, directly or through another manager.`,
      })
    return await dialThrough(now, where, signal)
  }
}

interface Straightening {
  readonly where: Where
  readonly dispatcher: Pick<Dispatcher, 'isIdle'>
  readonly signal: AbortSignal
  readonly log: Log
}

/** Switches to a direct connection, only while no request is in flight, so that no reply is lost. */
async function straighten(link: Link, { where, dispatcher: { isIdle }, signal, log }: Straightening): Promise<void> {
  if (!isIdle() || !(await canBeDialled(where, signal)) || !isIdle()) return
  log.info({ url: where.url }, 'the manager can be dialled now')
  link[Symbol.dispose]()
}

class Taken extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof AppError && typeof error.detail.why === 'string') return error.detail.why
  return error instanceof Error ? error.message : String(error)
}

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

/** A peer that refuses before it has proven its identity may be a stranger, so keep trying. */
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
