import { AppError, ORIGIN_SECRET_PROTOCOL, TERMINAL_PROTOCOL, TUNNEL_CLOSE, type SessionId } from '#manager/contract'
import { type Host } from '../../host.ts'
import { t } from '../../words/en/terminal.ts'

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}
export interface TerminalSpec extends TerminalSize {
  readonly sessionId: SessionId
  /** Name of the shell in the session: the same name attaches to the same shell. */
  readonly name: string
  /** Role of the container of the session; left out: the main one. */
  readonly kernel?: string | undefined
}

/** An attached shell. After `close()` the listener is no longer called. */
export interface TerminalLink {
  write(data: Uint8Array<ArrayBuffer>): void
  resize(size: TerminalSize): void
  close(): void
}
export interface TerminalListener {
  onData(data: Uint8Array): void
  /**
   * The link ended without `close()`; possibly before `AttachTerminal` has resolved. `code` is one of TUNNEL_CLOSE, or 1006 if
   * the network cut it.
   */
  onClosed(code: number): void
}
/** Attaches a shell. @throws AppError if the shell cannot be attached */
export type AttachTerminal = (spec: TerminalSpec, listener: TerminalListener) => Promise<TerminalLink>

/**
 * Attaches from a browser: one WebSocket to the manager on the page's own origin, authenticated by cookie and origin secret. The
 * secret travels as a subprotocol, because a page cannot set headers on a WebSocket, and URLs end up in logs.
 */
export function attachBySocket(origin: string, originSecret: () => string): AttachTerminal {
  return ({ sessionId, name, kernel, cols, rows }, listener) =>
    new Promise((resolve, reject) => {
      const url = new URL(`/api/v1/sessions/${sessionId}/terminal`, origin)
      url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
      url.search = new URLSearchParams({ name, cols: String(cols), rows: String(rows) }).toString()
      if (kernel !== undefined) url.searchParams.set('kernel', kernel)
      const socket = new WebSocket(url, [TERMINAL_PROTOCOL, ORIGIN_SECRET_PROTOCOL + originSecret()])
      socket.binaryType = 'arraybuffer'
      let isClosed = false
      const send = (data: string | Uint8Array<ArrayBuffer>) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(data)
      }
      socket.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (data instanceof ArrayBuffer && !isClosed) listener.onData(new Uint8Array(data))
      }
      // A browser hides why an upgrade was refused; the caller asks the manager about the session.
      socket.onclose = () => reject(new AppError('unavailable', { why: t('noAnswer') }))
      socket.onopen = () => {
        socket.onclose = ({ code }) => {
          if (!isClosed) listener.onClosed(code)
        }
        resolve({
          write: send,
          resize: size => send(JSON.stringify({ resize: { cols: size.cols, rows: size.rows } })),
          close() {
            isClosed = true
            socket.close(TUNNEL_CLOSE.done)
          },
        })
      }
    })
}

/** Attaches from the desktop app: its main process holds the WebSocket, because the page has no credentials. */
export function attachByHost({ terminal, on }: Pick<Host, 'terminal' | 'on'>): AttachTerminal {
  return async (spec, listener) => {
    // Events may arrive before the reply with this link's id: they wait here, and are then handled in order.
    const early: { id: string; handle: () => void }[] = []
    let own: string | undefined
    const handleOwn = (id: string, handle: () => void) => {
      if (own === undefined) early.push({ id, handle })
      else if (id === own) handle()
    }
    const stops = [
      on('terminal:data', ({ id, data }) => handleOwn(id, () => listener.onData(data))),
      on('terminal:closed', ({ id, code }) => {
        handleOwn(id, () => {
          stop()
          listener.onClosed(code)
        })
      }),
    ]
    const stop = () => stops.forEach(stopListening => stopListening())
    try {
      own = await terminal.open({
        sessionId: spec.sessionId,
        name: spec.name,
        ...(spec.kernel === undefined ? {} : { kernel: spec.kernel }),
        cols: spec.cols,
        rows: spec.rows,
      })
    } catch (error) {
      stop()
      throw error
    }
    const id = own
    for (const event of early) if (event.id === id) event.handle()
    return {
      write: data => void terminal.write(id, data).catch(() => undefined),
      resize: ({ cols, rows }) => void terminal.resize(id, { cols, rows }).catch(() => undefined),
      close() {
        stop()
        void terminal.close(id).catch(() => undefined)
      },
    }
  }
}
