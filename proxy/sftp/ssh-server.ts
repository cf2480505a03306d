import { type Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AuthContext, Connection, Server, ServerChannel, ServerConfig, Session } from 'ssh2'
import { cleanLine } from '#base/clean-text'
import { toWireError } from '#manager/contract'
import { type Log } from '../log.ts'
import { createKeyCheck } from './key-check.ts'
import { keepPacketKeys } from './packet-keys.ts'

export interface SshServerDeps {
  /** Private key in OpenSSH's format. */
  readonly hostKey: string
  /** Lines of `.pub` files whose owners may connect. Called again after some seconds. */
  readonly allowedKeys: () => Promise<readonly string[]>
  /** Opens an SFTP connection to the manager, as a stream of bytes. @throws AppError */
  readonly openSftp: (signal: AbortSignal) => Promise<Duplex>
  /** Called when the number of connections has changed. */
  readonly onChange: () => void
  readonly log: Log
}

export interface SshServer {
  /** Serves a client that has connected: a socket, or standard input and output. */
  accept(socket: Duplex): void
  /** Connections of clients that have proved a key. */
  readonly connections: number
  close(): void
}

/** Needs no HMAC, which would cost more than the cipher. OpenSSH chooses it only if told to, as our Host blocks do. */
export const FAST_CIPHER = 'aes128-gcm@openssh.com'
/** Deadline for the handshake and the proof of a key together. */
const PROOF_MS = 30_000
/** Largest number of keys that one connection may try: an ssh-agent may hold many. */
const MOST_KEYS = 20
/** Time for a client to read why its connection ends. */
const LINGER_MS = 1_000
const SFTP_ONLY = 'This port moves files by SFTP only. For rsync, use a session that mounts the folder.'
/** Largest number of connections that have proved a key. */
const MOST_PROVED = 64
/** Largest number of other connections: a further one replaces the oldest. */
const MOST_UNPROVED = 128
const MOST_CHANNELS = 16
const KEEPALIVE_MS = 15_000

/**
 * An SSH server with one service: the subsystem `sftp`. Its bytes go to the manager as they are.
 *
 * Threat model: every user and program of this computer can connect, and containers with host networking. A client has to prove one of the
 * allowed keys; there are no passwords. Shells and commands get a text that says what the port is for, and run nothing. Environment,
 * forwarding and agents are not offered (ssh2 refuses what has no listener). Connections that have not proved a key are replaced by newer
 * ones, and do not count towards the limit of those that have. Each has a deadline for its proof, and bounded numbers of keys and channels;
 * an error ends the connection and no other. Compression is off: a few bytes must not become many. An error of the manager reaches the
 * client as an error text of the channel: one line without control characters, which the terminal of the user would obey.
 *
 * Only ciphers that Node does with the processor's AES are offered, because OpenSSH would choose ChaCha20, which ssh2 does in WebAssembly.
 */
export async function createSshServer(deps: SshServerDeps): Promise<SshServer> {
  const { default: ssh2 } = await import('ssh2') // loaded late: few proxies have an SFTP port
  const { hostKey, allowedKeys, openSftp, onChange, log } = deps
  const open = new Set<Duplex>()
  const proved = new Set<Duplex>()
  const mayEnter = createKeyCheck({ allowedKeys, parseKey: ssh2.utils.parseKey })
  const options: ServerConfig = {
    hostKeys: [hostKey],
    ident: 'Berth',
    keepaliveInterval: KEEPALIVE_MS,
    keepaliveCountMax: 4,
    algorithms: {
      cipher: [FAST_CIPHER, 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes256-ctr'],
      compress: ['none'],
    },
  }

  function makeRoom(): void {
    const unproved = [...open].filter(socket => !proved.has(socket))
    if (unproved.length >= MOST_UNPROVED) unproved[0]?.destroy()
  }

  function authenticate(client: Connection) {
    let tried = 0
    return (context: AuthContext) => {
      if (context.method !== 'publickey') {
        context.reject(['publickey'])
        return
      }
      if (++tried > MOST_KEYS) {
        client.end()
        return
      }
      mayEnter(context).then(
        isAllowed => (isAllowed ? context.accept() : context.reject(['publickey'])),
        (error: unknown) => {
          log.warn({ error: String(error) }, 'a key could not be checked')
          context.reject(['publickey'])
        },
      )
    }
  }

  function serveSession(session: Session, socket: Duplex, gone: AbortSignal): void {
    session.on('subsystem', (accept, reject, { name }) => {
      if (name !== 'sftp') {
        reject()
        return
      }
      const channel = accept()
      carry(channel, socket, gone).catch((error: unknown) =>
        log.warn({ error: String(error) }, 'an SFTP channel failed'),
      )
    })
    // Otherwise scp -O, rsync and plain ssh would only say that the request failed. A terminal is only requested before a shell.
    session.on('pty', accept => accept())
    session.on('exec', accept => refuse(accept()))
    session.on('shell', accept => refuse(accept()))
  }

  function refuse(channel: ServerChannel): void {
    channel.on('error', () => undefined).resume()
    channel.stderr.write(`Berth: ${SFTP_ONLY}\r\n`)
    finish(channel, 1)
  }

  async function carry(channel: ServerChannel, socket: Duplex, gone: AbortSignal): Promise<void> {
    channel.on('error', () => undefined) // pipeline reports it
    let wire: Duplex
    try {
      wire = await openSftp(gone)
    } catch (error) {
      channel.stderr.write(`Berth: ${cleanLine(toWireError(error).message)}\r\n`)
      finish(channel, 1)
      return
    }
    const directions = [pipeline(channel, wire), pipeline(wire, channel, { end: false })]
    wire.prependListener('data', () => joinWrites(socket))
    const outcome = await Promise.all(directions).then(
      () => 0,
      () => 1, // either side is gone: the client sees a connection that ends
    )
    finish(channel, outcome)
  }

  function finish(channel: ServerChannel, code: number): void {
    if (channel.destroyed) return
    channel.exit(code)
    channel.end()
  }

  function serve(client: Connection, socket: Duplex, gone: AbortSignal): void {
    let channels = 0
    client.on('authentication', authenticate(client))
    client.on('handshake', () => keepPacketKeys(client))
    client.on('ready', () => {
      if (socket.destroyed) return
      if (proved.size >= MOST_PROVED) {
        socket.destroy()
        return
      }
      proved.add(socket)
      onChange()
    })
    client.on('session', (accept, reject) => {
      if (++channels > MOST_CHANNELS) reject()
      else serveSession(accept(), socket, gone)
    })
    client.on('error', error => {
      log.debug({ error: String(error) }, 'an SSH connection failed')
      setTimeout(() => socket.destroy(), LINGER_MS).unref()
    })
  }

  return {
    accept(socket) {
      makeRoom()
      const gone = new AbortController()
      const deadline = setTimeout(() => {
        if (!proved.has(socket)) socket.destroy()
      }, PROOF_MS).unref()
      open.add(socket)
      socket.on('error', () => undefined) // ssh2 reports it
      socket.on('close', () => {
        clearTimeout(deadline)
        open.delete(socket)
        gone.abort(new Error('the client has gone'))
        if (proved.delete(socket)) onChange()
      })
      // Each socket has its own server, which never listens: so we know which client belongs to the socket.
      const server: Server = new ssh2.Server(options)
      server.on('connection', client => serve(client, socket, gone.signal))
      server.on('error', (error: unknown) => log.debug({ error: String(error) }, 'an SSH connection failed'))
      server.injectSocket(socket as Parameters<Server['injectSocket']>[0])
    },
    get connections() {
      return proved.size
    },
    close() {
      for (const socket of open) socket.destroy()
    },
  }
}

/** Joins writes: ssh2 writes each packet in three parts, and each of them would wake up the client. */
function joinWrites(socket: Duplex): void {
  if (socket.writableCorked > 0) return
  socket.cork()
  process.nextTick(() => socket.uncork())
}
