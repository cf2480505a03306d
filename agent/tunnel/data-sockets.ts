import { type Socket } from 'node:net'
import { DATA_PATH, DATA_UPGRADE, type DataHeader } from '#agent/contract'
import { dialDirectly } from '../control/reach.ts'
import { requestUpgrade } from '../control/upgrade-socket.ts'
import { parseHeader, readLine } from '../control/header-reader.ts'

export interface Log {
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface DataSocketsDeps {
  readonly managerUrl: string
  /** Token of the control connection; expires with it. */
  readonly dataToken: string
  /** Minimum number of parked sockets. */
  readonly count: number
  /** Takes over a socket whose header has arrived. */
  readonly serve: (header: DataHeader, socket: Socket) => void
  readonly log: Log
  /** Fingerprint of the manager's key, as for the control connection; without it, a system authority must vouch for the manager. */
  readonly fingerprint?: string | undefined
  /** True if the manager has proven its identity on the control connection; it then does so again here. */
  readonly proven?: boolean
  /** Connects to the manager by the route of the control connection, which may go through another manager. Default: directly. */
  readonly dial?: ((signal: AbortSignal) => Promise<Socket>) | undefined
}

export interface DataSockets extends AsyncDisposable {
  /** Number of sockets that the manager holds and may use now. */
  readonly parked: number
}

/** Maximum number of sockets parked for a burst of connections. */
const MAX_PARKED = 64
/** Interval at which half of the sockets left over from a burst are closed. */
export const SHRINK_AFTER_MS = 30_000
/** Shorter than two seconds: tunnels must work again that soon after the network is back. */
const LONGEST_BACKOFF_MS = 1_500

/**
 * Keeps sockets parked at the manager, so that a tunnel costs no round trip to the agent: dials one for each socket that is
 * taken, and more when a burst took them all. Disposing closes the parked sockets; running tunnels continue.
 *
 * Threat model: we dial, nothing listens here. Data on a socket is as trusted as the manager that proved its identity on the
 * control connection; the header names a kernel and an app, never an address. If the manager was proven on the control
 * connection, it is proven on each data socket too, and the token is not sent, so an attacker who takes the port of a crashed
 * manager gets nothing.
 */
export function createDataSockets(deps: DataSocketsDeps): DataSockets {
  const url = new URL(deps.managerUrl)
  const { dataToken, proven = false, fingerprint } = deps
  const dial = deps.dial ?? (signal => dialDirectly({ url: deps.managerUrl, fingerprint }, signal))
  const idle = new Set<Parking>()
  const ready = new Set<Parking>()
  let wanted = deps.count
  let failures = 0
  let ended = false
  let retry: NodeJS.Timeout | undefined
  const shrink = setInterval(() => {
    wanted = Math.max(deps.count, Math.floor(wanted / 2))
    // The manager takes the freshest socket first, so it rarely takes one that is being closed here; if it does, it takes
    // another.
    for (const parking of ready) {
      if (idle.size <= wanted) break
      idle.delete(parking)
      ready.delete(parking)
      parking.socket?.destroy()
    }
  }, SHRINK_AFTER_MS).unref()

  function fill() {
    if (ended || retry) return
    while (idle.size < wanted) open()
  }

  function open() {
    const parking: Parking = { dialling: new AbortController(), socket: undefined }
    idle.add(parking)
    dial(parking.dialling.signal).then(
      socket => introduce(parking, socket),
      (error: unknown) => {
        deps.log.debug({ error: String(error) }, 'a data socket could not be opened')
        failed(parking)
      },
    )
  }

  function introduce(parking: Parking, socket: Socket) {
    parking.socket = socket
    if (ended) {
      socket.destroy()
      return
    }
    requestUpgrade(socket, { url, path: DATA_PATH, protocol: DATA_UPGRADE }, { dataToken, proven }, accepted => {
      if (!accepted) {
        failed(parking)
        return
      }
      failures = 0
      ready.add(parking)
      readLine(socket, line => {
        const header = line === undefined ? undefined : parseHeader(line)
        if (header === undefined) {
          if (line !== undefined) deps.log.warn({}, 'the manager sent a header that this agent does not know')
          failed(parking)
          return
        }
        if (ready.size === 1) wanted = Math.min(wanted * 2, MAX_PARKED)
        idle.delete(parking)
        ready.delete(parking)
        fill()
        deps.serve(header, socket)
      })
    })
  }

  function failed(parking: Parking) {
    parking.socket?.destroy()
    ready.delete(parking)
    if (!idle.delete(parking) || ended || retry) return
    const delay = Math.random() * Math.min(LONGEST_BACKOFF_MS, 50 * 2 ** failures++)
    retry = setTimeout(() => {
      retry = undefined
      fill()
    }, delay)
  }

  fill()
  return {
    get parked() {
      return ready.size
    },
    [Symbol.asyncDispose]() {
      ended = true
      clearInterval(shrink)
      clearTimeout(retry)
      for (const { dialling, socket } of idle) {
        dialling.abort()
        socket?.destroy()
      }
      return Promise.resolve()
    },
  }
}

/** A socket that is being opened, or is open and parked. */
interface Parking {
  readonly dialling: AbortController
  socket: Socket | undefined
}
