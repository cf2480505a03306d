import { randomUUID } from 'node:crypto'
import { type FromAgent, type ManagerAddress } from '#agent/contract'
import { AppError, type ManagerId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Handlers } from './dispatcher.ts'
import { type Identity } from './identity.ts'
import { introduce, type Joining } from './introduce.ts'
import { isOnThisMachine, type JoinInvitation, requireSafeUrl } from './join-string.ts'
import { type ManagerLink, type ManagerLinkDeps, startManagerLink } from './manager-link.ts'
import { type Route, type Where } from './reach.ts'
import { type CurrentReport, type Heard } from './reporter.ts'

export interface ControlDeps {
  readonly identity: Identity
  readonly name: string
  /** Address of the manager; overrides the remembered one. */
  readonly managerUrl: string | undefined
  readonly invitation: JoinInvitation | undefined
  readonly handlers: Handlers
  readonly report: () => CurrentReport
  /** Called when a manager has processed this report; kernels it could not process are left out. */
  readonly onHeard: (report: CurrentReport, heard: Heard) => void
  /** Called before the key is used: claims this engine for this agent and manager. @throws `engine_already_managed` */
  readonly claim: (managerId: ManagerId) => Promise<void>
  readonly onWelcome: ManagerLinkDeps['onWelcome']
  /** Pauses for managers on this machine; left out: by their addresses. */
  readonly isLocal?: boolean | undefined
  readonly log: Log
}

export interface Control extends AsyncDisposable {
  /** Resolves when a manager has processed a report; rejects like `ended`. */
  readonly ready: Promise<void>
  /** Rejects when retrying is pointless: the agent was refused, or the engine belongs to another agent. */
  readonly ended: Promise<never>
  /** Ends control, like a refusal, if retrying cannot fix the error. */
  fail(error: unknown): void
  /** Call when something in the report changed; changes within a short time are sent in one report. */
  changed(): void
  /** Sends a notice. Without a connection it is dropped: the next report has the same content. */
  notify(message: FromAgent): void
}

/** Errors that retrying cannot fix. */
const FATAL = new Set([
  'agent_revoked',
  'agent_running_elsewhere',
  'join_token_invalid',
  'engine_already_managed',
  'config_invalid',
])

/**
 * Keeps one control connection to every manager for as long as the agent lives. The first goes to the address that the agent
 * was given (possibly that of a load balancer). Managers on one database announce each other, and the agent remembers their
 * addresses: if the given address is down at its next start, it finds the others.
 */
export function startControl(deps: ControlDeps): Control {
  const { identity, log } = deps
  const ready = Promise.withResolvers<undefined>()
  const ended = Promise.withResolvers<never>()
  for (const { promise } of [ready, ended]) promise.catch(() => undefined)
  const instance = randomUUID()
  const joining: Joining = { invitation: deps.invitation, isForgotten: false }
  let closed = false
  const others = new Map<string, ManagerLink>()
  /** Last announced list of managers. */
  let managersNow: readonly ManagerAddress[] = []
  const stopping = new Set<Promise<void>>()
  let freed = Promise.withResolvers<undefined>()

  /** The address with which the agent was started. */
  function given(): Where {
    const url = deps.managerUrl ?? joining.invitation?.url ?? identity.manager?.url
    if (url === undefined) {
      throw new AppError('config_invalid', { why: 'This agent has no manager yet: start it with a join string.' })
    }
    const { invitation } = joining
    const pinned = url === invitation?.url ? invitation.fingerprint : identity.manager?.fingerprint
    return { url, fingerprint: pinned }
  }

  function startLink(where: () => Where, asOther: boolean): ManagerLink {
    const link: ManagerLink = startManagerLink({
      where,
      route: () => routeTo(where().url),
      introduce: hello => introduce(hello, { ...deps, instance, joining, asOther }),
      isTaken: processId => all().some(other => other !== link && other.processId === processId),
      freed: () => freed.promise,
      report: deps.report,
      onHeard: deps.onHeard,
      handlers: deps.handlers,
      onFreed() {
        // Waiting links may be needed, now that this connection has ended.
        freed.resolve(undefined)
        freed = Promise.withResolvers<undefined>()
      },
      onWelcome: deps.onWelcome,
      isLocal: deps.isLocal,
      onReady: () => ready.resolve(undefined),
      onManagers: learn,
      onFailure(error) {
        if (
          !asOther &&
          error instanceof AppError &&
          error.code === 'agent_revoked' &&
          joining.invitation &&
          !joining.isForgotten
        ) {
          joining.isForgotten = true
          return 'again'
        }
        return fail(error) ? 'stop' : 'later'
      },
      log,
    })
    return link
  }

  /** Applies the current list of managers: closes connections to managers that are gone, dials new ones. */
  function learn(managers: readonly ManagerAddress[]): void {
    managersNow = managers
    const urls = managers.map(({ url }) => url).filter(isWorthDialling)
    const { manager } = identity
    if (manager && JSON.stringify(manager.urls ?? []) !== JSON.stringify(urls)) {
      identity
        .remember({ ...manager, urls })
        .catch((error: unknown) => log.warn({ err: error }, 'the addresses of the managers could not be kept'))
    }
    dial(urls)
    for (const link of all()) link.wake()
  }

  function routeTo(url: string): Route | undefined {
    const to = managersNow.find(manager => manager.url === url)?.id
    const door = to === undefined ? undefined : all().find(link => link.door)?.door
    return to !== undefined && door ? { door, to } : undefined
  }

  function dial(urls: readonly string[]): void {
    if (closed) return
    const own = given().url
    for (const [url, link] of others) {
      if (urls.includes(url)) continue
      others.delete(url)
      const stopped = Promise.resolve(link[Symbol.asyncDispose]()).finally(() => stopping.delete(stopped))
      stopping.add(stopped)
    }
    for (const url of urls) {
      if (url === own || others.has(url)) continue
      const { fingerprint } = given()
      others.set(
        url,
        startLink(() => ({ url, fingerprint: new URL(url).protocol === 'https:' ? fingerprint : undefined }), true),
      )
    }
  }

  /**
   * Whether to dial the address. A loopback address announced by a manager on another machine means that manager's own machine, not ours.
   */
  function isWorthDialling(url: string): boolean {
    if (isOnThisMachine(new URL(url)) && !isOnThisMachine(new URL(given().url))) return false
    try {
      requireSafeUrl(url)
      return true
    } catch (error) {
      log.warn({ url, err: error }, 'a manager cannot be dialled')
      return false
    }
  }

  function fail(error: unknown): boolean {
    if (!(error instanceof AppError && FATAL.has(error.code))) return false
    log.error({ code: error.code, err: error }, 'the agent stops')
    ready.reject(error)
    ended.reject(error)
    for (const link of all()) void link[Symbol.asyncDispose]()
    return true
  }

  const all = (): ManagerLink[] => [...first, ...others.values()]
  const first: ManagerLink[] = []
  first.push(startLink(given, false))
  const { manager } = identity
  // With an invitation, remembered addresses are not dialled: the invitation may lead to another manager.
  if (manager?.urls && !joining.invitation) dial(manager.urls)
  return {
    ready: ready.promise,
    ended: ended.promise,
    fail: error => void fail(error),
    changed: () => all().forEach(link => link.changed()),
    notify: message => all().forEach(link => link.notify(message)),
    async [Symbol.asyncDispose]() {
      closed = true
      await Promise.all([...all().map(link => link[Symbol.asyncDispose]()), ...stopping])
    },
  }
}
