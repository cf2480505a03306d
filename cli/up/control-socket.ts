import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, rm, stat } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, type CertificateReport } from '#manager/contract'
import { type AppsState, type ProxyFault } from '#proxy/contract'
import { type PartlyIsolated } from './isolation.ts'

/**
 * Answer of the control socket: a Unix socket (a named pipe on Windows) that is the lock of a data directory, and the control
 * endpoint of the Berth that holds it.
 *
 * Threat model: a client that can connect gets a sign-in link of the administrator, so the socket is 0600: only its owner and
 * root can open it. The data directory is 0711, because the user that runs the embedded PostgreSQL has to pass through it;
 * others can neither list it nor create anything there. The same holds for the directory for long paths, which is checked to be
 * ours. The socket answers one question per connection and takes no other input.
 */
export interface Running {
  readonly url: string
  readonly signInUrl: string
  /** Proves to the console that a signed-in browser runs on this computer. */
  readonly localUrl: string
  /** File URL of a page that leads to the sign-in link; readable for a minute, only by the owner of the data directory. */
  readonly signInPage: string
  readonly adminEmail: string
  readonly adminPasswordFile: string
  readonly pid: number
  /** Faults that the console has seen in the reverse proxy in front of it, for `berth doctor`. */
  readonly proxyFaults: readonly ProxyFault[]
  /** The address of apps, and whether it leads to the console; undefined from a Berth of an earlier version. */
  readonly apps?: AppsState | undefined
  /** The certificate that the console presents; undefined without TLS. */
  readonly certificate?: CertificateReport | undefined
  /** Undefined until the agent has looked, and without an agent. */
  readonly partlyIsolated?: PartlyIsolated | undefined
}

/** Unix socket paths end at about 104 bytes: a longer data directory gets a name derived from it, in a directory of ours. */
export function controlSocketPath(data: string, platform = process.platform): string {
  const digest = createHash('sha256').update(data).digest('hex').slice(0, 16)
  if (platform === 'win32') return `\\\\.\\pipe\\berth-${digest}`
  const path = join(data, 'up.sock')
  return Buffer.byteLength(path) < 100 ? path : join(sharedDirectory(), `${digest}.sock`)
}

const sharedDirectory = () => join(tmpdir(), `berth-${process.getuid?.() ?? 0}`)

/**
 * Creates a private directory. In the directory for temporary files any user can create any name before us; in a directory of
 * another user, that user could replace our files.
 *
 * @throws AppError `config_invalid`
 */
export async function makePrivate(directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
  if (await isPrivate(directory)) return
  throw new AppError('config_invalid', {
    why: `${directory} must be a directory that belongs to you alone (mode 0700). Remove it, or choose a data directory with a shorter path.`,
  })
}

async function isPrivate(directory: string): Promise<boolean> {
  // lstat, because a link would be another user's choice of place.
  const entry = await lstat(directory).catch(() => undefined)
  return entry !== undefined && entry.isDirectory() && entry.uid === process.getuid?.() && (entry.mode & 0o077) === 0
}

/**
 * Takes the lock.
 *
 * @returns undefined if another process holds it
 */
export async function openControlSocket(
  path: string,
  answer: () => Promise<Running>,
): Promise<AsyncDisposable | undefined> {
  if (dirname(path) === sharedDirectory()) await makePrivate(sharedDirectory())
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

/** State reported by the Berth that holds the lock; undefined if it is stopping or does not answer in time. */
export async function askRunning(path: string, withinMs = 30_000): Promise<Running | undefined> {
  // The owner of a foreign directory could answer in our name and show the user a page of theirs.
  if (dirname(path) === sharedDirectory() && !(await isPrivate(sharedDirectory()))) return undefined
  const socket = connect(path)
  socket.setTimeout(withinMs, () => socket.destroy())
  try {
    for await (const line of createInterface({ input: socket })) return JSON.parse(line) as Running
    return undefined
  } catch {
    return undefined // refused or reset: no process answers
  } finally {
    socket.destroy()
  }
}

/**
 * Asks the Berth that holds the lock until its start is done.
 *
 * @returns undefined once no process holds the lock any more, and if the start takes longer than `withinMs`
 * @throws the signal's reason
 */
export async function askStarting(
  path: string,
  { everyMs, withinMs, signal }: { readonly everyMs: number; readonly withinMs: number; readonly signal: AbortSignal },
): Promise<Running | undefined> {
  const until = performance.now() + withinMs
  while (performance.now() < until && (await isAnswered(path))) {
    const running = await askRunning(path)
    if (running) return running
    await sleep(everyMs, undefined, { signal })
  }
  return undefined
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

/** Whether a process answers: a Berth holds the lock. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    const settle = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}

/** Removes a socket file whose process is gone. A file younger than a second may belong to a start in progress. */
async function removeStale(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined)
  if (entry && Date.now() - entry.mtimeMs > 1_000) await rm(path, { force: true })
}
