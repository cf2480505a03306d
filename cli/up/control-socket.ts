import { createHash } from 'node:crypto'
import { chmod, rm, stat } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * The lock of a data directory and the door to the Berth that holds it: a Unix socket (a named pipe on Windows).
 *
 * Threat model: whoever can connect gets a sign-in link of the administrator, so the socket is 0600 in the data directory
 * (0700); only its owner and root can open it. It answers one question per connection and takes no other input.
 */
export interface Running {
  readonly url: string
  readonly signInUrl: string
  /** File URL of a page that leads there; only the owner of the data directory can read it, for a minute. */
  readonly signInPage: string
  readonly adminEmail: string
  readonly adminPasswordFile: string
  readonly pid: number
}

/** Unix socket paths end at about 104 bytes: a longer data directory gets a name derived from it. */
export function controlSocketPath(data: string, platform = process.platform): string {
  const digest = createHash('sha256').update(data).digest('hex').slice(0, 16)
  if (platform === 'win32') return `\\\\.\\pipe\\berth-${digest}`
  const path = join(data, 'up.sock')
  return path.length < 100 ? path : join(tmpdir(), `berth-${digest}.sock`)
}

/**
 * Takes the lock.
 * @returns undefined where another process holds it
 */
export async function openControlSocket(
  path: string,
  answer: () => Promise<Running>,
): Promise<AsyncDisposable | undefined> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    answer().then(
      running => socket.end(`${JSON.stringify(running)}\n`),
      () => socket.destroy(), // not up yet, or going down: the caller sees the end of the connection
    )
  })
  if (!(await listen(server, path))) {
    if (await isAnswered(path)) return undefined
    await removeStale(path)
    if (!(await listen(server, path))) return undefined
  }
  if (process.platform !== 'win32') await chmod(path, 0o600)
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** What the Berth that holds the lock says of itself; undefined where it goes down or does not answer in time. */
export async function askRunning(path: string, withinMs = 30_000): Promise<Running | undefined> {
  const socket = connect(path)
  socket.setTimeout(withinMs, () => socket.destroy())
  try {
    for await (const line of createInterface({ input: socket })) return JSON.parse(line) as Running
    return undefined
  } catch {
    return undefined // refused or reset: nobody is there
  } finally {
    socket.destroy()
  }
}

function listen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error))
    server.once('error', onError)
    server.listen(path, () => {
      server.off('error', onError)
      resolve(true)
    })
  })
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    const settle = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}

/** A socket file whose process is gone. A file younger than a second may be a start that is just under way. */
async function removeStale(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined)
  if (entry && Date.now() - entry.mtimeMs > 1_000) await rm(path, { force: true })
}
