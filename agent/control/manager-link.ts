import { type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type FromAgent, type FromManager, type ManagerAddress, type Welcome } from '#agent/contract'
import { AppError, isErrorCode } from '#manager/contract'
import { type z } from 'zod'
import { type Log } from '../log.ts'
import { backoffMs } from './backoff.ts'
import { createDispatcher, type Dispatcher, type Handlers } from './dispatcher.ts'
import { isOnThisMachine } from './join-string.ts'
import { type Link } from './link.ts'
import { canBeDialled, openLink } from './open-link.ts'
import { dialDirectly, dialThrough, type Route, type Where } from './reach.ts'
import { type CurrentReport, createReporter, type Heard, type Reporter } from './reporter.ts'

export interface ManagerConnection extends Where {
  /** Its key is pinned, and it has shown that it has it. */
  readonly proven: boolean
  /** Another connection to it, by the way that this one has taken. */
  readonly dial: (signal: AbortSignal) => Promise<Socket>
}

export interface ManagerLinkDeps {
  /** Asked before every attempt. @throws `config_invalid` */
  readonly where: () => Where
  /** How it may be reached where it cannot be dialled; asked before every attempt. */
  readonly route: () => Route | undefined
  /** Answers the challenge; the connection is worth nothing before. */
  readonly introduce: (hello: Introduction) => Promise<Accepted>
  /** Another connection of this agent goes to that process already: one is enough. */
  readonly isTaken: (processId: string) => boolean
  /** Resolves when that may be different. */
  readonly freed: () => Promise<unknown>
  /** The connection to a process is over. */
  readonly onFreed: () => void
  readonly report: () => CurrentReport
  readonly onHeard: (report: CurrentReport, heard: Heard) => void
  readonly handlers: Handlers
  /** After each welcome; the returned thing lives as long as the connection. */
  readonly onWelcome: (welcome: z.infer<typeof Welcome>, connection: ManagerConnection) => Promise<AsyncDisposable>
  /** What this agent is and has is known there: sessions may be asked for. */
  readonly onReady: () => void
  readonly onManagers: (managers: readonly ManagerAddress[]) => void
  /** @returns whether trying again is of no use */
  readonly onFailure: (error: unknown) => 'stop' | 'again' | 'later'
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

/** One control connection, for as long as it is wanted. */
export interface ManagerLink extends AsyncDisposable {
  /** The process that it is connected to. */
  readonly processId: string | undefined
  /** Through which other managers may be reached: while it is connected, and that directly. */
  readonly door: Route['door'] | undefined
  /** There is news of the managers: no waiting for the next attempt, or for the next look for a straighter way. */
  wake(): void
  changed(): void
  notify(message: FromAgent): void
}

/** How often it is tried whether a manager that is reached through another can be dialled by now. */
const STRAIGHTEN_MS = 30_000

export function startManagerLink(deps: ManagerLinkDeps): ManagerLink {
  const { log } = deps
  const stop = new AbortController()
  let current: { link: Link; reporter: Reporter } | undefined
  let processId: string | undefined
  let door: Route['door'] | undefined
  /** Ends a pause, or an attempt that has not got through. */
  let trying = new AbortController()
  let isStraightOnly = true
  let isPausing = false
  let straightenNow: (() => void) | undefined
  /** Whoever answers at its address is not it: not there again while there is another way. */
  let isStranger = false

  async function connectOnce(onConnected: () => void): Promise<void> {
    const where = deps.where()
    const route = deps.route()
    isStraightOnly = route === undefined
    const opening = AbortSignal.any([stop.signal, trying.signal])
    const opened = await openLink({ where, route, isDirectUseless: isStranger }, opening)
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
      await serve(link, messages, welcome, { ...where, proven, dial: dialOf(where, opened.route) })
    } finally {
      processId = undefined
      door = undefined
      deps.onFreed()
    }
  }

  /** The manager in between may be another one by then. */
  function dialOf(where: Where, route: Route | undefined): ManagerConnection['dial'] {
    if (!route) return signal => dialDirectly(where, signal)
    return async signal => {
      const now = deps.route()
      if (!now) throw new AppError('unavailable', { why: `There is no way to ${where.url} now.` })
      return await dialThrough(now, where, signal)
    }
  }

  async function serve(
    link: Link,
    messages: AsyncIterator<FromManager>,
    welcome: z.infer<typeof Welcome>,
    connection: ManagerConnection,
  ): Promise<void> {
    const dispatcher = createDispatcher(deps.handlers, log)
    using reporter = createReporter(deps.report, link, deps.onHeard)
    await using _data = await deps.onWelcome(welcome, connection)
    current = { link, reporter }
    reporter.now()
    log.info(
      { managerId: welcome.managerId, url: connection.url, direct: door !== undefined },
      'connected to the manager',
    )
    using straightening = door ? undefined : every(STRAIGHTEN_MS, () => straighten(connection, link, dispatcher))
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

  /** Between two requests, so that nobody waits for an answer in vain. */
  async function straighten(where: Where, link: Link, { isIdle }: Dispatcher): Promise<void> {
    if (!isIdle() || !(await canBeDialled(where, stop.signal)) || !isIdle()) return
    log.info({ url: where.url }, 'the manager can be dialled now')
    link[Symbol.dispose]()
  }

  // A call, because it changes while something is awaited.
  const stopping = () => stop.signal.aborted
  const aborted = new Promise<void>(resolve => stop.signal.addEventListener('abort', () => resolve(), { once: true }))

  async function run(): Promise<void> {
    let attempt = 0
    while (!stopping()) {
      trying = new AbortController()
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
      // An attempt that takes its time is left alone, unless there is a better one now.
      if (!current && (isStraightOnly || isPausing)) trying.abort(new Error('there is news of the managers'))
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

/** One at a time; a failure is no news. */
function every(ms: number, act: () => Promise<void>): Disposable & { readonly now: () => void } {
  let running = false
  const now = () => {
    if (running) return
    running = true
    void act()
      .catch(() => undefined)
      .finally(() => (running = false))
  }
  const timer = setInterval(now, ms)
  return { now, [Symbol.dispose]: () => clearInterval(timer) }
}

function onAbort(signal: AbortSignal, act: () => void): Disposable {
  signal.addEventListener('abort', act)
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', act) }
}
