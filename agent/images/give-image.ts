import { type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { extract } from 'tar-stream'
import { LONGEST_LINE, TransferHave, type TransferHello } from '#agent/contract'
import { type EngineClient, engineMessage } from '../docker/engine-client.ts'
import { endStream } from '../docker/lines.ts'
import { type Log } from '../log.ts'
import { imageStoreOf } from './image-store.ts'
import { lineOf, readTransfer } from './transfer-lines.ts'

/** Interval of words while the engine prepares an archive, or a file is skipped: the receiver ends a silent transfer. */
const PULSE_MS = 10_000
/** A receiver that takes nothing for this long is gone. */
const STALLED_MS = 120_000

/** Files of an archive of `docker save` that make up the image, on engines of all versions: layers, configuration, and blobs of either. */
const LAYER = /^(?:blobs\/sha256\/[0-9a-f]{64}|[0-9a-f]{64}\.json|[0-9a-f]{64}\/layer\.tar)$/
/** Blobs are named by their digests. */
const BLOB = /^blobs\/sha256\/([0-9a-f]{64})$/

export type Given = { readonly bytes: number }

/**
 * Gives an image of this engine to another agent, over a socket that the manager has joined to that agent's. Files that the receiver has are
 * left out. Ends when the socket does. Until `turn`, the receiver is told to wait.
 *
 * Threat model: the manager, which has proven its key, names the image, and that it may be given. The receiver names no image, no path and no
 * file: it only says which files of this image to leave out. Nothing is written here.
 */
export async function giveImage(
  engine: EngineClient,
  id: string,
  wire: Socket,
  turn: Promise<unknown> = Promise.resolve(),
): Promise<Given> {
  let bytes = 0
  const gone = new AbortController()
  wire.once('close', () => gone.abort()).once('error', () => gone.abort())
  wire.setTimeout(STALLED_MS, () => wire.destroy())
  const parts = async function* () {
    try {
      yield* pulsing(turn)
      yield lineOf(await helloOf(engine, id))
      const have = TransferHave.parse(await readTransfer(wire).line(LONGEST_LINE))
      for await (const part of filesOf(engine, id, { have, signal: gone.signal })) {
        bytes += part.length
        yield part
      }
      yield lineOf({ end: true })
    } catch (error) {
      if (gone.signal.aborted) throw error
      yield lineOf({ failed: engineMessage(error).slice(0, 1_000) })
    }
  }
  try {
    await pipeline(Readable.from(parts(), { objectMode: true, highWaterMark: 1 }), wire)
    return { bytes }
  } finally {
    gone.abort()
  }
}

async function helloOf(engine: EngineClient, id: string): Promise<TransferHello> {
  const [store, found] = await Promise.all([imageStoreOf(engine), engine.calls.getImage(id).inspect()])
  const { Layers: layers } = found.RootFS as { Layers?: string[] | null }
  return { store, layers: layers ?? [], bytes: found.Size }
}

interface Wanted {
  readonly have: TransferHave
  readonly signal: AbortSignal
}

/** Files of the image with a line before each, from the archive that the engine makes. */
async function* filesOf(
  engine: EngineClient,
  id: string,
  { have, signal }: Wanted,
): AsyncGenerator<Buffer, void, undefined> {
  const names = new Set(have.names)
  const digests = new Set(have.digests)
  const archive = yield* pulsing(save(engine, id, signal))
  const entries = extract()
  archive.on('error', (error: Error) => entries.destroy(error))
  archive.pipe(entries)
  const iterator = entries[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = yield* pulsing(iterator.next())
      if (next.done) return
      const entry = next.value
      const { name, type, size } = entry.header
      const blob = BLOB.exec(name)?.[1]
      const isWanted = type === 'file' && LAYER.test(name) && !names.has(name)
      if (!isWanted || (blob !== undefined && digests.has(`sha256:${blob}`))) {
        entry.resume()
        continue
      }
      yield lineOf({ name, bytes: size })
      for await (const chunk of entry) yield chunk as Buffer
    }
  } finally {
    entries.destroy()
    endStream(archive)
  }
}

/** Waits for something, and says now and then that it does. */
async function* pulsing<T>(wanted: Promise<T>): AsyncGenerator<Buffer, T, undefined> {
  // A failure while the pulse is being sent is handled when it is awaited.
  wanted.catch(() => undefined)
  for (;;) {
    const end = new AbortController()
    const pulse = sleep(PULSE_MS, 'pulse' as const, { signal: end.signal }).catch(() => 'pulse' as const)
    const first = await Promise.race([wanted.then(value => ({ value })), pulse]).finally(() => end.abort())
    if (first !== 'pulse') return first.value
    yield lineOf({ wait: true })
  }
}

/** An archive of the image. Unlike dockerode's own call, it can be aborted before the engine answers. */
function save({ streams }: EngineClient, id: string, abortSignal: AbortSignal): Promise<NodeJS.ReadableStream> {
  const { promise, resolve, reject } = Promise.withResolvers<NodeJS.ReadableStream>()
  const request = {
    path: `/images/${id}/get`,
    method: 'GET',
    isStream: true,
    abortSignal,
    statusCodes: { 200: true, 404: 'no such image', 500: 'server error' },
  }
  const { modem } = streams as unknown as {
    modem: { dial(request: object, done: (error: Error | null, data: NodeJS.ReadableStream) => void): void }
  }
  modem.dial(request, (error, data) => (error ? reject(error) : resolve(data)))
  return promise
}

export interface ImageGiver extends Disposable {
  /** Gives the image over a socket that the manager has joined to the receiver. Takes the socket over. */
  serve(id: string, wire: Socket): void
}

/** Gives images of this engine, one at a time: each makes the engine write an archive. */
export function createImageGiver(engine: EngineClient, log: Pick<Log, 'info'>): ImageGiver {
  const wires = new Set<Socket>()
  let turn: Promise<unknown> = Promise.resolve()
  return {
    serve(id, wire) {
      wire.on('error', () => wire.destroy())
      if (wires.size >= MOST_WAITING) {
        wire.destroy()
        return
      }
      wires.add(wire)
      const before = turn
      const given = giveImage(engine, id, wire, before)
        .then(
          ({ bytes }) => log.info({ id, bytes }, 'an image was given to another agent'),
          (error: unknown) => log.info({ id, why: String(error) }, 'an image was not given to another agent'),
        )
        .finally(() => {
          wires.delete(wire)
          wire.destroySoon()
        })
      // A receiver that leaves while it waits lets nobody pass the one before it.
      turn = before.then(() => given)
    },
    [Symbol.dispose]() {
      for (const wire of wires) wire.destroy()
    },
  }
}

/** Managers give one image of an agent at a time, so there are as many as managers. */
const MOST_WAITING = 8
