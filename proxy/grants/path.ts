import { type Socket } from 'node:net'
import type { Grant, WireError } from '#manager/contract'
import { AppError, because, isAppError, toWireError } from '#manager/contract/light'
import { createBackoff } from './backoff.ts'
import { createGrantKeeper, type GrantKeeperDeps } from './grant-keeper.ts'
import { linkSignals } from './link-signals.ts'
import { verdictOf } from './verdict.ts'

/** State of a tunnel's path to its session. The listener stays open in every state but `ended`. */
export type PathState = 'open' | 'reconnecting' | 'signed_out' | 'ended'

export interface PathDeps<Line = Socket> extends Pick<GrantKeeperDeps, 'api' | 'sessionId' | 'app'> {
  /** Tries once to open a connection through the manager. @throws AppError */
  readonly dial: (grant: Grant, signal: AbortSignal) => Promise<Line>
  readonly onChange: (state: PathState, lastError: WireError | null) => void
  readonly limits?: Partial<PathLimits>
}

export interface PathLimits {
  /** Maximum number of connections that wait for the path; further ones are refused at once. */
  readonly parked: number
  /** Maximum wait of one connection. */
  readonly parkMs: number
  /** Time limit of one attempt; a dead route must not use up the whole wait. */
  readonly dialMs: number
}
const LIMITS: PathLimits = { parked: 64, parkMs: 60_000, dialMs: 20_000 }

export interface Path<Line = Socket> extends Disposable {
  readonly state: PathState
  readonly lastError: WireError | null
  /**
   * Opens a connection to the app. While the path is down the caller is parked, and continues within about a second after the
   * path is back.
   * @throws AppError; rejects when the signal aborts
   */
  connect(signal: AbortSignal): Promise<Line>
  /** The current grant, obtained if there is none. @throws AppError */
  grant(): Promise<Grant>
  /**
   * Call when something has changed: retries now, and restarts attempts in flight, because their connections may be dead without notice.
   */
  wake(): void
  /** Updates the state after a connection that the manager had accepted failed behind it. */
  judge(error: unknown): void
  /** Ends the path, because an event said that the session is over. */
  end(): void
}

/** Path from a local listener to one app of one session: grant, attempts, waiting, and the state shown to the user. */
export function createPath<Line = Socket>(deps: PathDeps<Line>): Path<Line> {
  const limits = { ...LIMITS, ...deps.limits }
  const backoff = createBackoff({ minMs: 100, maxMs: 1_000 })
  const over = new AbortController()
  /** Aborted by the next wake, for attempts that began before it. */
  let waking = new AbortController()
  let state: PathState = 'open'
  let lastError: WireError | null = null
  let parked = 0

  const keeper = createGrantKeeper({
    ...deps,
    onRenewed: () => {
      // Waiters retry now; the next connection finds out whether the agent can be reached.
      backoff.wake()
      if (parked === 0) move('open', null)
    },
    onRenewalFailed: error => {
      judge(error)
    },
  })

  function move(next: PathState, error: unknown) {
    if (state === 'ended') return
    const failure = error === null ? null : failureOf(error)
    if (next === state && failure?.message === lastError?.message) return
    state = next
    lastError = failure
    if (next === 'ended') over.abort(error ?? new AppError('session_not_running', because('session_ended')))
    deps.onChange(state, lastError)
  }

  /** Updates the state; returns true if a later retry makes sense. */
  function judge(error: unknown): boolean {
    const verdict = verdictOf(error)
    if (verdict === 'ended') move('ended', error)
    else if (verdict === 'fail') move(state, error)
    else move(verdict === 'sign_in' ? 'signed_out' : 'reconnecting', error)
    return verdict !== 'ended' && verdict !== 'fail'
  }

  async function attempt(signal: AbortSignal, woken: AbortSignal): Promise<Line> {
    const grant = await keeper.current()
    using attempted = linkSignals([signal, woken], limits.dialMs)
    try {
      return await deps.dial(grant, attempted.signal)
    } catch (error) {
      if (verdictOf(error) === 'new_grant') keeper.reject(grant)
      throw error
    }
  }

  async function connect(caller: AbortSignal): Promise<Line> {
    using linked = linkSignals([caller, over.signal])
    let { signal } = linked
    let isParked = false
    try {
      for (let round = 0; ; round++) {
        signal.throwIfAborted()
        const woken = waking.signal
        try {
          const line = await attempt(signal, woken)
          backoff.reset()
          move('open', null)
          return line
        } catch (error) {
          if (signal.aborted) throw error
          if (woken.aborted) continue
          if (verdictOf(error) === 'new_grant' && round === 0) continue
          if (!judge(error)) throw error
        }
        if (!isParked) {
          if (parked >= limits.parked) throw new AppError('unavailable', because('too_many_waiting'))
          isParked = true
          parked++
          signal = AbortSignal.any([signal, AbortSignal.timeout(limits.parkMs)])
        }
        await backoff.wait(signal)
      }
    } catch (error) {
      if (signal.aborted && !caller.aborted && !over.signal.aborted) throw waitedTooLong(lastError)
      throw error
    } finally {
      if (isParked) parked--
    }
  }

  return {
    get state() {
      return state
    },
    get lastError() {
      return lastError
    },
    connect,
    async grant() {
      for (;;) {
        const woken = waking.signal
        try {
          return await keeper.current()
        } catch (error) {
          if (!woken.aborted || state === 'ended') throw error
        }
      }
    },
    wake() {
      if (state === 'ended') return
      waking.abort(new Error('the network of this computer has changed'))
      waking = new AbortController()
      backoff.wake()
      keeper.renewNow()
    },
    judge: error => void judge(error),
    end() {
      move('ended', new AppError('session_not_running', because('session_ended')))
    },
    [Symbol.dispose]() {
      keeper[Symbol.dispose]()
      over.abort(new AppError('tunnel_not_found', because('tunnel_closed')))
    },
  }
}

function waitedTooLong(lastError: WireError | null): AppError {
  return new AppError(
    'unavailable',
    lastError === null
      ? because('not_reached_in_time')
      : because('not_reached_in_time_because', { text: lastError.message }),
  )
}

/** For the console: a coded error as it is, an absent manager for a network failure, and no internals otherwise. */
function failureOf(error: unknown): WireError {
  const isAway = !isAppError(error) && verdictOf(error) === 'wait'
  return toWireError(isAway ? new AppError('unavailable', because('manager_away')) : error)
}
