import { chmod, mkdir, open, rm, stat } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '#manager/contract'
import { closeDirectory } from './close-directory.ts'

const NAME = 'agent.sock'
/** sun_path holds 104 bytes on macOS and 108 on Linux. */
const PATH_LIMIT = 100
/** A socket file younger than this that does not answer may belong to an agent that is just starting. */
const YOUNG_MS = 1_000
const RETRIES = 8
const RETRY_MS = 250

/**
 * Takes the lock of an agent's directory: two agents with one key would keep taking each other's connections away. The lock is released on
 * dispose, and when the process ends, however it ends.
 *
 * The lock is a Unix socket, as that of `berth up` is. Threat model: the socket is 0600 in a directory of mode 0700, so only the agent's
 * own user and root can connect; it returns the process id of the holder and takes no input.
 *
 * @throws AppError `data_dir_locked`, which names the process that holds the lock
 */
export async function lockDirectory(directory: string): Promise<AsyncDisposable> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  // The directory may have been there before: made by an administrator, or copied from another disk.
  await closeDirectory(directory)
  await using stack = new AsyncDisposableStack()
  const path = await shortPath(directory, stack)
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.end(String(process.pid))
  })
  let holder: string | undefined
  for (let attempt = 0; attempt < RETRIES; attempt++) {
    if (await listen(server, path)) {
      await chmod(path, 0o600)
      server.unref()
      const opened = stack.move()
      return {
        async [Symbol.asyncDispose]() {
          await new Promise(resolve => server.close(resolve))
          await opened.disposeAsync()
        },
      }
    }
    holder = await askHolder(path)
    if (holder !== undefined) break
    await removeStale(path)
    await delay(RETRY_MS)
  }
  throw new AppError('data_dir_locked', {
    why:
      `Another agent${holder ? ` (process ${holder})` : ''} uses ${directory}. Stop that agent first, or give this one a ` +
      'data directory of its own (BERTH_DATA).',
  })
}

/** Path of the socket. On Linux, a path too long for a socket is replaced by one through a descriptor of the directory. */
async function shortPath(directory: string, stack: AsyncDisposableStack): Promise<string> {
  const path = join(directory, NAME)
  if (Buffer.byteLength(path) <= PATH_LIMIT || process.platform !== 'linux') return path
  const handle = await open(directory)
  stack.defer(() => handle.close())
  return `/proc/self/fd/${handle.fd}/${NAME}`
}

function listen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    }
    server.once('error', onError)
    server.listen(path, () => {
      server.off('error', onError)
      resolve(true)
    })
  })
}

/** @returns the process id of the holder, empty if the holder does not say; undefined if nothing answers */
async function askHolder(path: string): Promise<string | undefined> {
  const socket = connect(path)
  try {
    return (await text(socket)).replace(/\D/g, '')
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

async function removeStale(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined)
  if (entry && Date.now() - entry.mtimeMs > YOUNG_MS) await rm(path, { force: true })
}
