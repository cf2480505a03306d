import { createServer, type Socket } from 'node:net'
import { listenAt } from '#proxy/listen-at'

/**
 * A port at which `berth up` itself listens, for as long as it runs; the connections go to one of its servers.
 *
 * Threat model: every user of this computer can bind a port that is free, and whoever has the port of a server gets what is meant for it:
 * sign-ins, and the secrets of our own processes. A server that crashes would free its port until it has started again (ADR 73).
 */
export interface HeldPort extends AsyncDisposable {
  readonly port: number
  /** From now on connections are for this taker: first those that wait. */
  handTo(take: (socket: Socket) => void): void
  /** Connections that no taker has taken after all: they go to the present one, or wait, ahead of later ones. */
  handBack(sockets: readonly Socket[]): void
  /** From now on connections wait for the next taker: a limited number, for a limited time. Later ones end at once. */
  hold(): void
}

/** Longer than a server needs to restart, also on a busy computer. A client that is refused after it reports that Berth is away. */
const WAIT_MS = 25_000
const MOST_WAITING = 256
/** Same options as for our HTTP servers' own sockets: they belong to the connection, and move with it. */
const CONNECTIONS = {
  pauseOnConnect: true,
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const

/**
 * @param hosts addresses to listen at, all with the same port; those that this computer lacks are left out, except the first
 * @param port 0 = any free port
 * @throws AppError `port_in_use`, `port_not_allowed` with `port`
 */
export async function holdPort(
  hosts: readonly string[],
  port: number,
  { waitMs = WAIT_MS, mostWaiting = MOST_WAITING }: { readonly waitMs?: number; readonly mostWaiting?: number } = {},
): Promise<HeldPort> {
  const waiting = new Set<Socket>()
  let taker: ((socket: Socket) => void) | undefined
  let late: NodeJS.Timeout | undefined
  let isLate = false

  /** Closes the oldest connection when a new one arrives, so that strangers who wait on purpose keep nobody out. */
  const cutOldest = () => {
    const [oldest] = waiting
    oldest?.destroy()
    if (oldest) waiting.delete(oldest)
  }
  const place = (socket: Socket) => {
    if (taker) taker(socket)
    else if (isLate) socket.destroy()
    else {
      waiting.add(socket)
      if (waiting.size > mostWaiting) cutOldest()
    }
  }
  const onConnection = (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    place(socket)
  }
  const release = (each: (socket: Socket) => void) => {
    clearTimeout(late)
    for (const socket of waiting) each(socket)
    waiting.clear()
  }
  const refuse = () => {
    isLate = true
    release(socket => socket.destroy())
  }
  const hold = () => {
    taker = undefined
    isLate = false
    clearTimeout(late)
    late = setTimeout(refuse, waitMs).unref()
  }
  hold()
  const listener = await listenAt(hosts, { port, onConnection, create: () => createServer(CONNECTIONS) })
  return {
    port: listener.port,
    handTo(take) {
      taker = take
      release(take)
    },
    handBack(sockets) {
      const later = [...waiting]
      waiting.clear()
      for (const socket of [...sockets, ...later]) place(socket)
    },
    hold,
    [Symbol.asyncDispose]() {
      taker = undefined
      refuse()
      // Do not wait: a server that handed connections to other processes asks them first.
      void listener.close()
      return Promise.resolve()
    },
  }
}
