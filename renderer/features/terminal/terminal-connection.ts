import { AppError, isAppError, isFinished, TUNNEL_CLOSE, type ErrorCode, type Session } from '#manager/contract'
import { reconnectPauseMs } from '../../api/reconnect-pause.ts'
import { type AttachTerminal, type TerminalLink, type TerminalSize, type TerminalSpec } from './terminal-link.ts'

export type ConnectionState =
  | { readonly status: 'connecting' }
  | { readonly status: 'open' }
  | { readonly status: 'waiting'; readonly failures: number; readonly error: unknown }
  /** The shell ended by itself (`exit`); a new one may be started under the same name. */
  | { readonly status: 'exited' }
  | { readonly status: 'session_ended' }
  | { readonly status: 'failed'; readonly error: unknown }

export interface ConnectionDeps {
  readonly spec: Omit<TerminalSpec, 'cols' | 'rows'>
  readonly attach: AttachTerminal
  /** Reads the session from the manager, to find out why an attempt failed. @throws AppError */
  readonly readSession: () => Promise<
    Pick<Session, 'status'> & { readonly kernels: readonly Pick<Session['kernels'][number], 'role'>[] }
  >
  readonly onData: (data: Uint8Array) => void
  readonly onState: (state: ConnectionState) => void
  readonly random?: () => number
}

export interface TerminalConnection {
  start(size: TerminalSize): void
  /** Sends input. While there is no connection, it is dropped: keys typed without a connection must not run later. */
  write(data: Uint8Array<ArrayBuffer>): void
  resize(size: TerminalSize): void
  /** Connects now instead of after the back-off pause; works also after `exited` and `failed`. */
  retry(): void
  stop(): void
}

/** So many times in a row the host may say that it does not have the container: an agent that has just started may not have found it yet. */
const MOST_MISSES = 4

/** Keeps one shell attached. The shell lives in the session (tmux), so a lost connection only has to be opened again. */
export function createTerminalConnection(deps: ConnectionDeps): TerminalConnection {
  const { spec, attach, readSession, onData, onState, random = Math.random } = deps
  let size: TerminalSize = { cols: 80, rows: 24 }
  let link: TerminalLink | undefined
  /** Attempts since the shell was last heard. A connection that opens may still be refused by the host of the session. */
  let failures = 0
  let misses = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The attempt in progress. The next attempt, a lost connection and a stop abort it, so that its late reports are ignored. */
  let attempt = new AbortController()
  function next(): AbortSignal {
    attempt.abort()
    attempt = new AbortController()
    return attempt.signal
  }

  async function connect(): Promise<void> {
    clearTimeout(timer)
    const mine = next()
    if (failures === 0) onState({ status: 'connecting' })
    const wanted = size
    try {
      const attached = await attach(
        { ...spec, ...wanted },
        {
          onData(data) {
            if (mine.aborted) return
            failures = misses = 0
            onData(data)
          },
          onClosed: code => mine.aborted || void lost(code),
        },
      )
      if (mine.aborted) {
        attached.close()
        return
      }
      link = attached
      onState({ status: 'open' })
      if (size.cols !== wanted.cols || size.rows !== wanted.rows) attached.resize(size)
    } catch (error) {
      if (!mine.aborted) await lost(undefined, error)
    }
  }

  async function lost(code: number | undefined, error?: unknown): Promise<void> {
    link = undefined
    const mine = next()
    if (code === TUNNEL_CLOSE.session_ended) {
      onState({ status: 'session_ended' })
      return
    }
    if (code === TUNNEL_CLOSE.done || code === TUNNEL_CLOSE.service_ended) {
      // The end of the shell and the end of the session look the same here; the manager knows which it was.
      const ended = await readSession().then(
        session => isFinished(session.status) || session.status === 'TERMINATING',
        () => false,
      )
      if (!mine.aborted) onState({ status: ended ? 'session_ended' : 'exited' })
      return
    }
    failures += 1
    misses = code === TUNNEL_CLOSE.kernel_not_found ? misses + 1 : 0
    onState({ status: 'waiting', failures, error })
    const verdict = await judge(error)
    if (mine.aborted) return
    if (verdict) onState(verdict)
    else timer = setTimeout(() => void connect(), reconnectPauseMs(failures, random()))
  }

  /**
   * Decides whether a failed attempt is final. A browser hides why a handshake was refused, so this asks the manager about the
   * session.
   *
   * @param refusal error of the attempt; only the desktop app knows its real cause
   * @returns a final state, or undefined to try again
   */
  async function judge(refusal: unknown): Promise<ConnectionState | undefined> {
    if (isFinal(refusal)) return { status: 'failed', error: refusal }
    try {
      const { status, kernels } = await readSession()
      if (isFinished(status)) return { status: 'session_ended' }
      const { kernel } = spec
      const isMissing = status === 'RUNNING' && kernel !== undefined && !kernels.some(({ role }) => role === kernel)
      return isMissing || misses >= MOST_MISSES
        ? { status: 'failed', error: new AppError('kernel_not_found') }
        : undefined
    } catch (error) {
      return isFinal(error) ? { status: 'failed', error } : undefined
    }
  }

  return {
    start(initial) {
      size = initial
      void connect()
    },
    write: data => link?.write(data),
    resize(next) {
      size = next
      link?.resize(next)
    },
    retry() {
      failures = misses = 0
      link?.close()
      link = undefined
      void connect()
    },
    stop() {
      attempt.abort()
      clearTimeout(timer)
      link?.close()
      link = undefined
    },
  }
}

const FINAL: ReadonlySet<ErrorCode> = new Set(['session_not_found', 'kernel_not_found', 'forbidden', 'bad_request'])
/** True if a retry cannot succeed. */
const isFinal = (error: unknown) => isAppError(error) && FINAL.has(error.code)
