import { lookup } from 'node:dns'
import { once } from 'node:events'
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { Client } from 'ldapts'
import { type DirectorySettings } from '#manager/contract'
import { isCredentialAddress } from '../../outgoing/credential-addresses.ts'
import { askForTls } from './start-tls.ts'

const CONNECT_MS = 4_000
const ANSWER_MS = 8_000
/** Limit of one visit: all servers, and all questions. */
const VISIT_MS = 20_000
/** Larger answers end the connection: entries of people and lists of their groups are small. */
const MAX_BYTES = 8 * 1024 * 1024

/** Step at which a visit failed. */
export type Stage = 'connect' | 'starttls' | 'tls' | 'ask'

/** A failed step at a server. `cause` is an error of Node or of the library. */
export class DirectoryFailure extends Error {
  override readonly name = 'DirectoryFailure'
  readonly stage: Stage
  /** Host and port. */
  readonly host: string

  constructor(stage: Stage, host: string, cause: unknown) {
    super(`the directory at ${host} failed (${stage})`, { cause })
    this.stage = stage
    this.host = host
  }
}

export class SlowDirectory extends Error {
  override readonly name = 'SlowDirectory'
}

export class RefusedDirectory extends Error {
  override readonly name = 'RefusedDirectory'
}

export interface DirectoryConnection {
  readonly client: Client
  /** Host and port, for messages. */
  readonly host: string
  readonly server: string
  readonly encryption: 'tls' | 'starttls' | 'none'
  /** Servers that were tried before and did not answer. */
  readonly skipped: readonly string[]
}

type Server = Pick<DirectorySettings, 'urls' | 'startTls' | 'caCertificates'>

/**
 * Visits the first server that answers, with TLS where the settings want it. Nothing but the wish for TLS is sent before it is there, above
 * all no password.
 *
 * Threat model: a server or a DNS record may lead this process to the address at which clouds provide the machine's credentials: the
 * connection goes only to addresses that were checked. The library reconnects by itself when a connection has ended, and would then send a
 * password without TLS: a second connection is refused. An attacker on the way may send an answer ahead of TLS that would count as one from
 * within it: bytes after the answer to StartTLS end the connection. Names and validity of certificates are always checked. Referrals, which
 * would take a password elsewhere, are never followed. Answers have limits of time and size.
 *
 * @throws DirectoryFailure of the last server, or what `ask` throws
 */
export async function visitDirectory<T>(
  settings: Server,
  ask: (connection: DirectoryConnection) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(VISIT_MS)
  const skipped: string[] = []
  let failure: unknown
  for (const server of settings.urls) {
    let opened: Opened
    try {
      opened = await openSocket(server, settings, deadline)
    } catch (error) {
      failure = error
      skipped.push(server)
      if (deadline.aborted) break
      continue
    }
    return askAt(opened, deadline, connection => ask({ ...connection, server, skipped }))
  }
  throw failure
}

async function askAt<T>(
  { socket, host, encryption }: Opened,
  deadline: AbortSignal,
  ask: (connection: Pick<DirectoryConnection, 'client' | 'host' | 'encryption'>) => Promise<T>,
): Promise<T> {
  let isTaken = false
  const client = new Client({
    // The library connects by `createConnection` for this scheme, so that TLS stays ours.
    url: 'ldap://directory',
    timeout: ANSWER_MS,
    strictDN: false,
    createConnection: () => {
      if (isTaken) throw new Error('the connection to the directory ended')
      isTaken = true
      return socket
    },
  })
  const end = () => socket.destroy(new SlowDirectory())
  deadline.addEventListener('abort', end, { once: true })
  try {
    return await ask({ client, host, encryption })
  } catch (error) {
    if (deadline.aborted) throw new DirectoryFailure('ask', host, new SlowDirectory())
    throw error
  } finally {
    deadline.removeEventListener('abort', end)
    await client.unbind().catch(() => undefined)
    socket.destroy()
  }
}

interface Opened {
  readonly socket: Socket
  readonly host: string
  readonly encryption: DirectoryConnection['encryption']
}

async function openSocket(
  server: string,
  { startTls, caCertificates }: Server,
  deadline: AbortSignal,
): Promise<Opened> {
  const url = new URL(server)
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const isLdaps = url.protocol === 'ldaps:'
  const port = Number(url.port || (isLdaps ? 636 : 389))
  const host = `${url.hostname}:${port}`
  const signal = AbortSignal.any([deadline, AbortSignal.timeout(CONNECT_MS)])
  let stage: Stage = 'connect'
  let open: Socket | undefined
  const end = () => open?.destroy(new SlowDirectory())
  signal.addEventListener('abort', end, { once: true })
  try {
    signal.throwIfAborted()
    if (isCredentialAddress(name)) throw new RefusedDirectory(name)
    const plain = (open = limited(connectPlain({ host: name, port, lookup: checkedLookup })))
    await once(plain, 'connect')
    if (!isLdaps && !startTls) return { socket: keep(plain), host, encryption: 'none' }
    stage = 'starttls'
    if (!isLdaps) await askForTls(plain)
    stage = 'tls'
    const secure: TLSSocket = connectTls({
      socket: plain,
      host: name,
      minVersion: 'TLSv1.2',
      // Names of servers are never addresses. RFC 6066, section 3
      ...(isIP(name) === 0 ? { servername: name } : {}),
      ...(caCertificates === null ? {} : { ca: caCertificates }),
    })
    open = limited(secure)
    await once(secure, 'secureConnect')
    return { socket: keep(secure), host, encryption: isLdaps ? 'tls' : 'starttls' }
  } catch (error) {
    open?.destroy()
    throw new DirectoryFailure(stage, host, signal.aborted ? new SlowDirectory() : error)
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Ends a connection over which too much arrives. Errors after the connection was given up are not news. */
function limited<S extends Socket>(socket: S): S {
  socket.on('error', () => undefined)
  socket.on('readable', () => undefined)
  return socket
}

/** The library reads the socket; from here on the bytes are counted. */
function keep(socket: Socket): Socket {
  socket.removeAllListeners('readable')
  socket.on('data', () => {
    if (socket.bytesRead > MAX_BYTES) socket.destroy(new Error('the answer of the directory is too large'))
  })
  return socket
}

const checkedLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) {
      done(error, '', 0)
      return
    }
    const [first] = addresses
    if (!first) done(new Error(`${hostname} has no address`), '', 0)
    else if (addresses.some(({ address }) => isCredentialAddress(address))) done(new RefusedDirectory(hostname), '', 0)
    else if (options.all) done(null, addresses)
    else done(null, first.address, first.family)
  })
}
