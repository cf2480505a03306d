import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'
import { type HostApi, type HostEvents } from '#proxy/contract'
import { parseJson } from '#base/parse-json'
import { AppError, because, fromProblem, Problem, TERMINAL_PROTOCOL, TUNNEL_CLOSE } from '#manager/contract'
import { knownFailure } from '#proxy/certificates'
import { type Network, textUpTo } from '#proxy/network'
import { type Account } from '../console/account.ts'

export interface TerminalPage {
  readonly id: number
  emit<E extends keyof HostEvents>(event: E, payload: HostEvents[E]): void
}

/** Terminals by page: a page sees, writes to and closes only its own terminals, which end with the page. The shells continue (tmux). */
export interface Terminals {
  apiFor(page: TerminalPage): HostApi['terminal']
  /** Call when the page was reloaded or closed. */
  closePage(pageId: number): void
  closeAll(): void
}

export interface TerminalsDeps {
  readonly account: () => Promise<Account>
  readonly agentFor: Network['agentFor']
}

/**
 * Opens terminal WebSockets to the manager with the bearer token, on behalf of pages, which have no token. A page names a
 * session and a shell; the manager decides whether the user may open it. A failed upgrade reaches the page as the manager's
 * error.
 */
export function createTerminals({ account, agentFor }: TerminalsDeps): Terminals {
  const open = new Map<string, { readonly pageId: number; readonly socket: WebSocket }>()
  const close = (id: string) => {
    open.get(id)?.socket.close(TUNNEL_CLOSE.done)
    open.delete(id)
  }
  const closeWhere = (matches: (pageId: number) => boolean) => {
    for (const [id, { pageId }] of open) if (matches(pageId)) close(id)
  }
  return {
    closePage: pageId => closeWhere(other => other === pageId),
    closeAll: () => closeWhere(() => true),
    apiFor: page => ({
      async open({ sessionId, name, kernel, cols, rows }) {
        const { endpoint, headers } = await account()
        const url = new URL(`/api/v1/sessions/${sessionId}/terminal`, endpoint)
        url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
        url.search = new URLSearchParams({ name, cols: String(cols), rows: String(rows) }).toString()
        if (kernel !== undefined) url.searchParams.set('kernel', kernel)
        // Look up the network's proxy by the address that the page's other calls use.
        const agent = await agentFor(new URL(endpoint))
        const options = { headers: await headers(), perMessageDeflate: false, agent }
        const socket = new WebSocket(url, TERMINAL_PROTOCOL, options)
        const id = randomUUID()
        socket.on('message', (data: Buffer, isBinary) => {
          if (isBinary) page.emit('terminal:data', { id, data: new Uint8Array(data) })
        })
        // Registered before it opens: a page may be closed in the meantime.
        open.set(id, { pageId: page.id, socket })
        try {
          await opened(socket)
        } catch (error) {
          open.delete(id)
          throw error
        }
        socket.on('error', () => undefined) // the close event that follows reports the reason
        socket.on('close', (code, reason) => {
          open.delete(id)
          page.emit('terminal:closed', { id, code, reason: reason.toString() })
        })
        return id
      },
      write(id, data) {
        socketOf(id, page)?.send(data)
        return Promise.resolve()
      },
      resize(id, { cols, rows }) {
        socketOf(id, page)?.send(JSON.stringify({ resize: { cols, rows } }))
        return Promise.resolve()
      },
      close(id) {
        if (socketOf(id, page)) close(id)
        return Promise.resolve()
      },
    }),
  }

  function socketOf(id: string, page: TerminalPage): WebSocket | undefined {
    const terminal = open.get(id)
    return terminal?.pageId === page.id && terminal.socket.readyState === WebSocket.OPEN ? terminal.socket : undefined
  }
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      socket.terminate()
      const known = knownFailure(error) ?? because('manager_away')
      reject(error instanceof AppError ? error : new AppError('unavailable', known, { cause: error }))
    }
    socket.once('open', () => {
      socket.off('error', fail)
      resolve()
    })
    socket.once('error', fail)
    socket.once('unexpected-response', (_request, response) => {
      textUpTo(response).then(text => fail(toError(response.statusCode ?? 500, text)), fail)
    })
  })
}

function toError(status: number, text: string): AppError {
  const problem = Problem.safeParse(parseJson(text))
  if (problem.success) return fromProblem(problem.data)
  // The answer came from a gateway, not from the manager.
  return new AppError(status === 401 ? 'not_signed_in' : 'unavailable', { why: `HTTP ${status}` })
}
