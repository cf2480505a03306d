import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { HOST_BUNDLES_PATH, type RequestInput } from '#agent/contract'
import { type Requester } from '../control/dispatcher.ts'
import { failed } from './failed.ts'
import { describedIn } from './installation.ts'

export type ProgramOrder = RequestInput<'update_program'>

const run = promisify(execFile)
/** A download during which nothing arrives for this long has failed. */
const QUIET_MS = 60_000
/** An address may lead to several managers, and only one of them knows the ticket. */
const TRIES = 5
const UNPACK_MS = 120_000
/** Beginning of the names of folders for a download. Those of the script, which may run at the same time, begin otherwise. */
const PARTIAL = '.update-'

/** Removes what an agent that was killed has left of its downloads. Nothing may be fetched meanwhile. */
export async function removePartial(programs: string): Promise<void> {
  const names = await readdir(programs).catch(() => [])
  const partial = names.filter(name => name.startsWith(PARTIAL))
  await Promise.all(partial.map(name => rm(join(programs, name), { recursive: true, force: true })))
}

/**
 * Fetches a program into a folder of its own below `programs`, unless it is there.
 *
 * Threat model: root will run what arrives. Its SHA-256 came by the control connection, over which the manager has proven its key; nothing is
 * unpacked before it is right. What serves the download, and who reads along, does not matter. The folder is writable for root only.
 *
 * @returns name of the folder
 * @throws AppError `unavailable`; the signal's reason
 */
export async function fetchProgram(
  order: ProgramOrder,
  { from, programs, signal }: { from: Requester; programs: string; signal: AbortSignal },
): Promise<string> {
  const name = `${order.version}-${order.sha256.slice(0, 12)}`
  if (await isThere(join(programs, name, 'add-host.sh'))) return name
  const work = await mkdtemp(join(programs, PARTIAL))
  try {
    await download(order, { from, file: join(work, 'bundle'), signal })
    await unpack(order, work, signal)
    await rename(join(work, 'program'), join(programs, name))
    return name
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

interface Download {
  readonly from: Requester
  readonly file: string
  readonly signal: AbortSignal
}

async function download(order: ProgramOrder, { from, file, signal }: Download): Promise<void> {
  for (let left = TRIES; ; left--) {
    try {
      await downloadOnce(order, { from, file, signal })
      return
    } catch (error) {
      signal.throwIfAborted()
      if (left > 1 && error instanceof NotThere) continue
      throw failed('update_not_fetched', error)
    }
  }
}

/** The manager that answered does not know the ticket or the archive. */
class NotThere extends Error {}

async function downloadOnce(order: ProgramOrder, { from, file, signal }: Download): Promise<void> {
  const socket = await from.dial(signal)
  try {
    const answer = await ask(order, from, socket, signal)
    if (answer.statusCode !== 200) {
      const said = `HTTP ${String(answer.statusCode)}`
      throw answer.statusCode === 401 || answer.statusCode === 404 ? new NotThere(said) : new Error(said)
    }
    const hash = createHash('sha256')
    let bytes = 0
    const check = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.length
        hash.update(chunk)
        done(bytes > order.bytes ? new Error('it is longer than announced') : null, chunk)
      },
    })
    await pipeline(answer, check, createWriteStream(file, { mode: 0o600 }), { signal })
    if (hash.digest('hex') !== order.sha256) throw new Error('it is not what the manager announced')
  } finally {
    socket.destroy()
  }
}

function ask(
  { sha256, ticket }: ProgramOrder,
  { url }: Requester,
  socket: Awaited<ReturnType<Requester['dial']>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { host, pathname } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request({
    createConnection: () => socket,
    path: `${pathname.replace(/\/$/, '')}${HOST_BUNDLES_PATH}${sha256}`,
    headers: { host, authorization: `Bearer ${ticket}`, connection: 'close' },
    signal,
  })
    .setTimeout(QUIET_MS, () => socket.destroy(new Error('nothing arrives any more')))
    .on('error', reject)
    .on('response', resolve)
    .end()
  return promise
}

async function unpack(order: ProgramOrder, work: string, signal: AbortSignal): Promise<void> {
  const program = join(work, 'program')
  const options = { signal, timeout: UNPACK_MS }
  try {
    await mkdir(program, { mode: 0o755 })
    await run('tar', ['-xzf', join(work, 'bundle'), '-C', program, '--strip-components=1', '--no-same-owner'], options)
    const described = describedIn(program)
    if (described?.digest !== order.digest || described.version !== order.version)
      throw new Error('it is another program than announced')
    await run(join(program, 'berth'), ['--version'], options)
  } catch (error) {
    signal.throwIfAborted()
    throw failed('update_not_unpacked', error)
  }
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
