import type { ApiClient, Grant, SessionId } from '#manager/contract'
import { AppError, GRANT_HEADER, isAppError } from '#manager/contract/light'
import { linkSignals } from './link-signals.ts'

export interface GrantKeeperDeps {
  readonly api: Pick<ApiClient, 'createGrant' | 'renewGrant'>
  readonly sessionId: SessionId
  readonly app: string
  /** Called when a background renewal worked or failed; failures of `current` go to its caller. */
  readonly onRenewed: () => void
  readonly onRenewalFailed: (error: unknown) => void
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number
}

export interface GrantKeeper extends Disposable {
  /** The current grant, as long as we believe it valid; asks the manager only if there is none. Concurrent callers share one request. */
  current(): Promise<Grant>
  /** Call if the manager did not accept the grant: the next `current` requests another one. */
  reject(grant: Grant): void
  /**
   * Renews now (the network came back, the user signed in again) instead of at the planned time. A request in flight may hang on a dead
   * connection, so it is aborted; its callers get an error.
   */
  renewNow(): void
}

const LIFETIME_MS = { shortest: 30_000, longest: 300_000 }
const CREATE_TIMEOUT_MS = 120_000 // the app may have to start first
const RENEW_TIMEOUT_MS = 10_000
const RETRY_MS = { first: 1_000, last: 15_000 }

/**
 * Holds the grant of one (session, app) and renews it in the background, so that opening a connection costs no round trip for
 * authorisation.
 *
 * Threat model: a grant is a bearer secret for one app of one session for five minutes. It lives in memory only and is sent
 * only in a header to the manager. Renewal needs the grant alone; creating one needs the user's credentials, so after sign-out
 * a tunnel works for at most one grant's lifetime.
 */
export function createGrantKeeper(deps: GrantKeeperDeps): GrantKeeper {
  const now = deps.now ?? (() => performance.now())
  let held: { readonly grant: Grant; readonly until: number } | undefined
  let asking: { readonly grant: Promise<Grant>; readonly stop: AbortController } | undefined
  let timer: NodeJS.Timeout | undefined
  let retryMs = RETRY_MS.first
  let disposed = false

  function hold(grant: Grant): Grant {
    const lifetimeMs = lifetimeOf(grant)
    held = { grant, until: now() + lifetimeMs }
    retryMs = RETRY_MS.first
    plan(lifetimeMs * (0.5 + Math.random() * 0.2))
    return grant
  }

  function plan(delayMs: number) {
    clearTimeout(timer)
    if (disposed) return
    timer = setTimeout(renewInBackground, delayMs)
    timer.unref()
  }

  function ask(): Promise<Grant> {
    if (asking) return asking.grant
    const stop = new AbortController()
    const grant = obtain(stop.signal).finally(() => {
      if (asking?.stop === stop) asking = undefined
    })
    asking = { grant, stop }
    return grant
  }

  async function obtain(stopped: AbortSignal): Promise<Grant> {
    if (disposed) throw new AppError('tunnel_not_found')
    if (held && held.until > now()) {
      try {
        const headers = { [GRANT_HEADER]: held.grant.grant }
        using inTime = linkSignals([stopped], RENEW_TIMEOUT_MS)
        return hold(await deps.api.renewGrant({ headers, signal: inTime.signal }))
      } catch (error) {
        if (!isAppError(error) || error.code !== 'grant_invalid') throw error
        held = undefined
      }
    }
    const params = { id: deps.sessionId, app: deps.app }
    using inTime = linkSignals([stopped], CREATE_TIMEOUT_MS)
    return hold(await deps.api.createGrant({ params, signal: inTime.signal }))
  }

  function renewInBackground() {
    const grant = ask()
    const stop = asking?.stop
    grant.then(deps.onRenewed, (error: unknown) => {
      // The request that replaced this one reports its own outcome.
      if (disposed || stop?.signal.aborted) return
      plan(retryMs * (0.5 + Math.random()))
      retryMs = Math.min(retryMs * 2, RETRY_MS.last)
      deps.onRenewalFailed(error)
    })
  }

  return {
    current: () => (held && held.until > now() ? Promise.resolve(held.grant) : ask()),
    reject(grant) {
      if (held?.grant.grant === grant.grant) held = undefined
    },
    renewNow() {
      asking?.stop.abort()
      asking = undefined
      renewInBackground()
    },
    [Symbol.dispose]() {
      disposed = true
      asking?.stop.abort(new AppError('tunnel_not_found'))
      held = undefined
      clearTimeout(timer)
    },
  }
}

/**
 * Rest of a grant's lifetime in milliseconds, from the manager's clock and ours. The clocks may disagree, so the result is
 * limited: at most as long as documented, and never absurdly short.
 */
function lifetimeOf(grant: Grant): number {
  const ms = Date.parse(grant.expiresAt) - Date.now()
  return Math.min(Math.max(ms, LIFETIME_MS.shortest), LIFETIME_MS.longest)
}
