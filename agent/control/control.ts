import { setTimeout as delay } from 'node:timers/promises'
import { type FromAgent, type FromManager, HEARTBEAT_MS, type Report, type Welcome } from '#agent/contract'
import { AppError, isErrorCode, type ManagerId } from '#manager/contract'
import { type z } from 'zod'
import { type Log } from '../log.ts'
import { backoffMs } from './backoff.ts'
import { createDispatcher, type Handlers } from './dispatcher.ts'
import { type Identity } from './identity.ts'
import { isOnThisMachine, type JoinInvitation } from './join-string.ts'
import { dialManager, type Link } from './link.ts'

export interface ControlDeps {
  readonly identity: Identity
  readonly name: string
  /** Where the manager is; overrides what was remembered. */
  readonly managerUrl: string | undefined
  readonly invitation: JoinInvitation | undefined
  readonly handlers: Handlers
  /** The full state. `images` is left out by `control` where the manager knows them already. */
  readonly report: () => Omit<Report, 'type' | 'sequence' | 'clockMs'>
  /** Before the key is used: this engine is ours, for this manager. @throws `engine_already_managed` */
  readonly claim: (managerId: ManagerId) => Promise<void>
  /** After each welcome; the returned thing lives as long as the connection. */
  readonly onWelcome: (welcome: z.infer<typeof Welcome>, connection: ManagerConnection) => Promise<AsyncDisposable>
  readonly log: Log
}

export interface ManagerConnection {
  readonly url: string
  readonly fingerprint: string | undefined
}

export interface Control extends AsyncDisposable {
  /** Resolves after the first report; rejects like `ended`. */
  readonly ready: Promise<void>
  /** Rejects when there is no point in trying again: refused, or the engine is another agent's. */
  readonly ended: Promise<never>
  /** Ends it, like a refusal, if the error is one that trying again does not mend. */
  fail(error: unknown): void
  /** Something in the report changed; sent at once, several changes together. */
  changed(): void
  /** Dropped while there is no connection: the next report says it too. */
  notify(message: FromAgent): void
}

/** These will not get better by themselves. */
const FATAL = new Set(['agent_revoked', 'join_token_invalid', 'engine_already_managed', 'config_invalid'])
const GATHER_MS = 20

/** Keeps one control connection to the manager, for as long as the agent lives. */
export function startControl(deps: ControlDeps): Control {
  const { identity, log } = deps
  const stop = new AbortController()
  const ready = Promise.withResolvers<undefined>()
  const ended = Promise.withResolvers<never>()
  for (const { promise } of [ready, ended]) promise.catch(() => undefined)
  let current: { link: Link; reporter: Reporter } | undefined
  let invitation = deps.invitation
  /** The manager forgot us; with an invitation we may join again. */
  let forgotten = false

  function connection(): ManagerConnection {
    const url = deps.managerUrl ?? invitation?.url ?? identity.manager?.url
    if (url === undefined) {
      throw new AppError('config_invalid', { why: 'This agent has no manager yet: start it with a join string.' })
    }
    const pinned = url === invitation?.url ? invitation.fingerprint : identity.manager?.fingerprint
    return { url, fingerprint: pinned }
  }

  async function connectOnce(onConnected: () => void): Promise<void> {
    const where = connection()
    using link = await dialManager(where.url, where.fingerprint, stop.signal)
    using _closed = onAbort(stop.signal, () => link[Symbol.dispose]())
    const messages = link.messages()[Symbol.asyncIterator]()
    const welcome = await shakeHands(link, messages, where)
    onConnected()
    const dispatcher = createDispatcher(deps.handlers, log)
    using reporter = createReporter(deps, link)
    await using _data = await deps.onWelcome(welcome, where)
    current = { link, reporter }
    reporter.now()
    ready.resolve(undefined)
    log.info({ managerId: welcome.managerId }, 'connected to the manager')
    try {
      for (let next = await messages.next(); !next.done; next = await messages.next()) {
        const message = next.value
        if (message.type === 'request') dispatcher.request(message, reply => link.send(reply))
        else if (message.type === 'cancel') dispatcher.cancel(message.id)
        else if (message.type === 'refused') throw refusal(message)
      }
    } finally {
      current = undefined
      dispatcher.forget()
    }
  }

  async function shakeHands(
    link: Link,
    messages: AsyncIterator<FromManager>,
    where: ManagerConnection,
  ): Promise<z.infer<typeof Welcome>> {
    const challenge = await expectMessage(messages, 'challenge')
    const { managerId, nonce } = challenge
    const known = identity.manager?.managerId === managerId
    if ((!known || forgotten) && !invitation) {
      throw new AppError('agent_revoked', {
        why: `${where.url} is not the manager this agent joined. Join it with a new join string.`,
      })
    }
    await deps.claim(managerId)
    const signature = identity.sign(nonce, managerId)
    const joining = known && !forgotten ? undefined : invitation
    link.send(
      joining
        ? {
            type: 'join',
            token: joining.token,
            agentId: identity.agentId,
            name: deps.name,
            publicKey: identity.publicKey,
            signature,
          }
        : { type: 'prove', agentId: identity.agentId, signature },
    )
    const welcome = await expectMessage(messages, 'welcome')
    if (joining || identity.manager?.url !== where.url) {
      const { fingerprint } = where
      await identity.remember({ managerId, url: where.url, ...(fingerprint === undefined ? {} : { fingerprint }) })
    }
    invitation = undefined
    forgotten = false
    return welcome
  }

  // A call, because it changes while something is awaited.
  const stopping = () => stop.signal.aborted

  async function run(): Promise<void> {
    let attempt = 0
    while (!stopping()) {
      try {
        await connectOnce(() => (attempt = 0))
        if (!stopping()) log.warn({}, 'the manager closed the connection')
      } catch (error) {
        if (stopping()) break
        if (error instanceof AppError && error.code === 'agent_revoked' && invitation && !forgotten) {
          forgotten = true
          continue
        }
        if (fail(error)) return
        if (attempt === 0) log.warn({ err: error }, 'the manager cannot be reached')
      }
      const pause = backoffMs(attempt++, Math.random(), { local: isOnThisMachine(new URL(connection().url)) })
      await delay(pause, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  function fail(error: unknown): boolean {
    if (!(error instanceof AppError && FATAL.has(error.code))) return false
    log.error({ code: error.code, err: error }, 'the agent stops')
    ready.reject(error)
    ended.reject(error)
    stop.abort()
    return true
  }

  const running = run()
  return {
    ready: ready.promise,
    ended: ended.promise,
    fail: error => void fail(error),
    changed: () => current?.reporter.soon(),
    notify: message => current?.link.send(message),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
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

function refusal({ code, message }: { code: string; message: string }): AppError {
  return new AppError(isErrorCode(code) ? code : 'unavailable', { why: message })
}

interface Reporter extends Disposable {
  now(): void
  soon(): void
}

/** Numbers reports, sends one with every heartbeat, and images only when they changed. */
function createReporter(deps: ControlDeps, link: Link): Reporter {
  let sequence = 0
  let imagesSent = ''
  let gathering: NodeJS.Timeout | undefined

  function now(): void {
    clearTimeout(gathering)
    gathering = undefined
    const { images, ...rest } = deps.report()
    const text = JSON.stringify(images)
    const changed = text !== imagesSent
    imagesSent = text
    link.send({
      type: 'report',
      sequence: ++sequence,
      clockMs: Date.now(),
      ...rest,
      ...(changed && images ? { images } : {}),
    })
  }

  const heartbeat = setInterval(now, HEARTBEAT_MS)
  return {
    now,
    soon() {
      gathering ??= setTimeout(now, GATHER_MS)
    },
    [Symbol.dispose]() {
      clearInterval(heartbeat)
      clearTimeout(gathering)
    },
  }
}

function onAbort(signal: AbortSignal, act: () => void): Disposable {
  signal.addEventListener('abort', act)
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', act) }
}
