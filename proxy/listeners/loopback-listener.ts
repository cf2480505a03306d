import { type AddressInfo, createServer, isIPv4, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { AppError, because } from '#manager/contract'

export interface LoopbackListener {
  readonly port: number
  /** Bound addresses, such as 127.0.0.1 and, if the machine has it, ::1. */
  readonly addresses: readonly string[]
  /** Stops accepting; sockets already handed out belong to their new owners. */
  close(): Promise<void>
}

/**
 * Listens on 127.0.0.1 and on [::1] at the same port. The port counts as taken if either is, so that `localhost` means the same
 * program whichever address a client picks. There is no probe first: holding both sockets is the lock.
 *
 * Threat model: loopback only, so other computers cannot connect, but every local user and every container with host networking
 * can. The handler of the connections must therefore require a proof of its own (a key, a ticket) or document that it does not.
 *
 * @param port 0 picks a free one
 *
 * @throws AppError `port_in_use`, `port_not_allowed` with `port`
 */
export const listenOnLoopback = (options: Binding): Promise<LoopbackListener> => listenAt(LOOPBACK, options)

export const LOOPBACK = ['127.0.0.1', '::1'] as const

/**
 * Addresses of a server that people of this computer reach as `localhost`, in addition to the address it listens at: another user of the
 * computer could listen at a free one. @param host address or name to listen at; undefined: loopback only
 */
export const withLoopback = (host: string | undefined): readonly string[] =>
  host === undefined ? LOOPBACK : [host, ...LOOPBACK]

const ATTEMPTS = 20

/**
 * Listens at these addresses. Skips addresses that this computer does not have (except the first), and those that an earlier one includes.
 */
export async function listenAt(hosts: readonly string[], binding: Binding): Promise<LoopbackListener> {
  for (let attempt = 0; ; attempt++) {
    const servers: Server[] = []
    const addresses: string[] = []
    try {
      for (const host of hosts) {
        const [first] = servers
        if (servers.some(server => includes(addressOf(server).address, host))) continue
        const server = await bind(host, first ? portOf(first) : binding.port, binding).catch((error: unknown) => {
          if (first && isMissing(error)) return undefined
          throw error
        })
        if (!server) continue
        servers.push(server)
        addresses.push(host)
      }
      const [first] = servers
      if (!first) throw new Error('a listener needs an address')
      return {
        port: portOf(first),
        addresses,
        close: async () => {
          await Promise.all(servers.map(closeServer))
        },
      }
    } catch (error) {
      await Promise.all(servers.map(closeServer))
      // The picked port was free on one address only: pick another one.
      if (binding.port === 0 && servers.length > 0 && attempt < ATTEMPTS) continue
      throw error
    }
  }
}

export interface Binding {
  readonly port: number
  readonly onConnection: (socket: Socket) => void
  /** Creates the server to bind, once per address; left out: a plain one. Its connections are passed to `onConnection` too. */
  readonly create?: () => Server
}

async function bind(host: string, port: number, { onConnection, create = plainServer }: Binding): Promise<Server> {
  const server = create()
  server.on('connection', onConnection)
  server.listen({ host, port, exclusive: true, ipv6Only: host === '::1' })
  try {
    await once(server, 'listening')
  } catch (error) {
    // EACCES: Windows reports this for ports that another program holds exclusively, other systems for low ports that only root may have.
    const isDenied = isErrno(error, 'EACCES')
    if (isErrno(error, 'EADDRINUSE') || (isDenied && process.platform === 'win32'))
      throw new AppError('port_in_use', { port, ...because('port_taken_on', { port, host }) }, { cause: error })
    if (isDenied)
      throw new AppError('port_not_allowed', { port, ...because('port_reserved', { port, host }) }, { cause: error })
    throw error
  }
  return server
}

/**
 * Delay before the first keepalive probe. A client that has closed its socket looks like one that has half-closed it and waits
 * for the answer, until something is sent to it. The kernel's probe finds out: it is refused once the client's side is gone. By
 * default the first probe goes out after two hours.
 */
const PROBE_AFTER_MS = 30_000
const plainServer = () =>
  createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS })

const portOf = (server: Server): number => addressOf(server).port

function addressOf(server: Server): AddressInfo {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return address
}

/** Whether a server at the first address also gets the connections to the second. `::` accepts IPv4 too; only `::1` does not. */
function includes(bound: string, host: string): boolean {
  if (bound === '::') return true
  const plain = bound.replace(/^::ffff:/, '')
  return plain === host || (plain === '0.0.0.0' && isIPv4(host))
}

function isMissing(error: unknown): boolean {
  return isErrno(error, 'EADDRNOTAVAIL') || isErrno(error, 'EAFNOSUPPORT') || isErrno(error, 'EINVAL')
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => {
      resolve()
    })
  })
}
