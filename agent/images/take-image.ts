import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { type Socket } from 'node:net'
import { join } from 'node:path'
import { cleanLine } from '#base/clean-text'
import { createSemaphore } from '#base/semaphore'
import { sizeText } from '#base/size-text'
import { type ImageOffer, LONGEST_LINE, TransferHello, TransferPart } from '#agent/contract'
import { AppError, because, type PullProgress } from '#manager/contract'
import { type EngineClient, fromEngine } from '../docker/engine-client.ts'
import { fileSystemOf } from '../limits/disk-use.ts'
import { nameImage } from './ensure-image.ts'
import { imageStoreOf } from './image-store.ts'
import { type HeldImage, inspectImage } from './pull.ts'
import { openStagedFiles, type StagedFiles } from './staged-files.ts'
import { archiveOf, loadTaken, namesOf, notIt } from './taken-archive.ts'
import { lineOf, readTransfer, TransferBroken, type TransferReader } from './transfer-lines.ts'
import { createTransferWires } from './transfer-wires.ts'

export interface TakeOptions {
  readonly signal: AbortSignal
  readonly onProgress: (progress: PullProgress) => void
}

export interface ImageTaker extends Disposable {
  /**
   * Takes an image from another agent, unless the engine has it. The manager joins sockets to the giver until that is done or fails. Two
   * requests for one transfer share it.
   *
   * @throws `image_not_found`, `disk_full`, `engine_unreachable`, `unavailable`; the signal's reason
   */
  take(offer: ImageOffer, options: TakeOptions): Promise<HeldImage>
  /** A socket that the manager has joined to the giver. Takes it over. */
  serve(transferId: string, wire: Socket): void
}

export interface ImageTakerDeps {
  readonly engine: EngineClient
  /** Data directory of the agent. Files of an image that is not complete are below it, of one image at a time. */
  readonly directory: string
  /** Bytes that stay free on a disk. */
  readonly floorBytes: number
  readonly timings?: Partial<typeof TIMINGS>
}

const TIMINGS = {
  /** The manager joins sockets when it is the image's turn. */
  wireMs: 15 * 60_000,
  /** A giver says every ten seconds that it is there. */
  quietMs: 60_000,
  /** A manager that knows the transfer has its request here within this time of its socket. */
  requestMs: 30_000,
  /** Files of a broken transfer go after this time. */
  keepMs: 24 * 3_600_000,
  sweepMs: 3_600_000,
  progressMs: 250,
}
/** Broken transfers before the request fails. */
const TRIES = 5
/** An archive has some bytes for each file of a layer besides its contents. */
const mostBytes = (sizeBytes: number) => 2 * sizeBytes + 256 * 2 ** 20
const MOST_FILES = 3_000

/**
 * Takes images from other agents, one at a time.
 *
 * Threat model: the giver is another host, and may be hostile. The manager says which image it is: its id is the digest of the configuration
 * (or manifest), which lists the digests of everything else. Nothing counts before its SHA-256 is right; names of files on this disk are those
 * digests, and paths of the giver are never used; the archive for the engine, with the names that the image gets, is made here. Bytes, files
 * and length of lines are bounded, and a transfer ends when nothing arrives.
 */
export function createImageTaker({ engine, directory, floorBytes, timings }: ImageTakerDeps): ImageTaker {
  const times = { ...TIMINGS, ...timings }
  const root = join(directory, 'taken-images')
  const taking = new Map<string, Promise<HeldImage>>()
  const wires = createTransferWires(times)
  const turns = createSemaphore(1)
  const sweeper = setInterval(() => void sweep(), times.sweepMs).unref()
  void sweep()

  /** Removes files of images that nobody takes any more, and those that an agent before this one was killed at. */
  async function sweep(): Promise<void> {
    for (const name of await readdir(root).catch(() => [])) {
      const path = join(root, name)
      if (taking.size === 0) await openStagedFiles(path).removePartial()
      const changed = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0
      if (taking.size === 0 && changed < Date.now() - times.keepMs) await rm(path, { recursive: true, force: true })
    }
  }

  const stagedFor = (id: string) => openStagedFiles(join(root, id.replace('sha256:', '')))

  async function takeNow(offer: ImageOffer, options: TakeOptions): Promise<HeldImage> {
    const { signal } = options
    for (let tries = 1; ; tries++) {
      const wire = await wires.next(offer.transferId, signal)
      try {
        const leave = await turns.take('', { signal })
        try {
          return await receive(offer, wire, options)
        } finally {
          leave()
        }
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof TransferBroken)) throw error
        if (tries >= TRIES) throw new AppError('unavailable', because('transfer_broken'), { cause: error })
      } finally {
        wire.destroy()
      }
    }
  }

  async function receive(offer: ImageOffer, wire: Socket, { signal, onProgress }: TakeOptions): Promise<HeldImage> {
    const there = await nameHeld(engine, offer)
    if (there) return there
    const cut = () => wire.destroy()
    signal.addEventListener('abort', cut, { once: true })
    wire.setTimeout(times.quietMs, cut)
    const staged = stagedFor(offer.id)
    try {
      await onlyThis(staged)
      const reader = readTransfer(wire)
      const hello = await readHello(reader)
      if (hello.store !== (await storeOf(engine)))
        throw new AppError('image_not_found', because('transfer_other_store'))
      const present = hello.store === 'layers' ? await presentLayers(engine, hello.layers) : NOTHING
      const [kept, names] = [await staged.list(), await staged.names()]
      await requireRoom(offer, kept)
      const progress = createProgress({ offer, hello, present, kept, onProgress, everyMs: times.progressMs })
      wire.write(lineOf({ digests: [...present.layers, ...kept.keys()], names: [...names.keys()] }))
      await receiveFiles(reader, { offer, hello, staged, kept, names, progress, signal })
      const archive = await archiveOf(offer, { store: hello.store, staged, present: present.layers })
      if (!archive) {
        await staged.remove()
        throw notIt()
      }
      wire.destroy()
      progress.tell('Extracting')
      await loadTaken(engine, archive, { staged, signal })
      const held = await nameHeld(engine, offer)
      if (!held) throw notIt()
      await staged.remove()
      progress.tell('Pull complete')
      return held
    } finally {
      signal.removeEventListener('abort', cut)
      wire.setTimeout(0)
    }
  }

  /** Files of another image that was not completed give way: only those of one image are kept. */
  async function onlyThis({ directory: own }: StagedFiles): Promise<void> {
    await mkdir(root, { recursive: true, mode: 0o700 })
    for (const name of await readdir(root)) {
      if (join(root, name) !== own) await rm(join(root, name), { recursive: true, force: true })
    }
  }

  /** @throws `disk_full` */
  async function requireRoom({ sizeBytes }: ImageOffer, kept: ReadonlyMap<string, number>): Promise<void> {
    const own = await fileSystemOf(root)
    if (!own) return
    const { DockerRootDir: engineRoot } = (await engine.calls.info()) as { DockerRootDir?: string }
    const engines = await fileSystemOf(engineRoot ?? '')
    const here = Math.max(0, sizeBytes - sum(kept.values()))
    // The engine unpacks the archive before it takes the layers over.
    const there = 2 * sizeBytes
    const check = (path: string, left: number, needed: number) => {
      if (left - needed >= floorBytes) return
      const values = { needed: sizeText(needed), path, left: sizeText(left) }
      throw new AppError('disk_full', because('transfer_no_room', values))
    }
    if (!engines || engines.device !== own.device) check(root, own.left.bytes, here)
    if (engines) check(engineRoot ?? '', engines.left.bytes, there + (engines.device === own.device ? here : 0))
  }

  return {
    take(offer, options) {
      const running = taking.get(offer.transferId)
      if (running) return running
      const taken = takeNow(offer, options).finally(() => taking.delete(offer.transferId))
      taking.set(offer.transferId, taken)
      return taken
    },
    serve: wires.serve,
    [Symbol.dispose]() {
      clearInterval(sweeper)
      wires[Symbol.dispose]()
    },
  }
}

const storeOf = (engine: EngineClient) =>
  imageStoreOf(engine).catch((error: unknown) => {
    throw fromEngine(error, 'internal')
  })

/** The image, if the engine has it; it gets the names that it lacks. @throws `engine_unreachable` */
async function nameHeld(engine: EngineClient, { id, references }: ImageOffer): Promise<HeldImage | undefined> {
  const held = await inspectImage(engine, id)
  if (!held) return undefined
  for (const reference of namesOf(references)) {
    // A name that means another image here is left to it.
    if (!(await inspectImage(engine, reference))) await nameImage(engine, id, reference)
  }
  return held
}

interface Present {
  readonly layers: ReadonlySet<string>
  /** Size of these layers, as far as it is known. */
  readonly bytes: number
}
const sum = (amounts: Iterable<number>) => [...amounts].reduce((a, b) => a + b, 0)
const NOTHING: Present = { layers: new Set(), bytes: 0 }

/** The lowest of these layers that the engine has for another image: it needs no files of them. @throws `engine_unreachable` */
async function presentLayers(engine: EngineClient, layers: readonly string[]): Promise<Present> {
  let [most, bytes] = [0, 0]
  const all = await engine.calls.listImages().catch((error: unknown) => {
    throw fromEngine(error, 'internal')
  })
  for (const { Id } of all) {
    const found = await engine.calls
      .getImage(Id)
      .inspect()
      .catch(() => undefined)
    const { Layers: own } = (found?.RootFS ?? {}) as { Layers?: readonly string[] | null }
    const differs = layers.findIndex((layer, at) => own?.[at] !== layer)
    const common = differs < 0 ? layers.length : differs
    if (common <= most) continue
    most = common
    bytes = own?.length === common ? (found?.Size ?? 0) : 0
  }
  return { layers: new Set(layers.slice(0, most)), bytes }
}

/** @throws TransferBroken, `unavailable` */
async function readHello(reader: TransferReader): Promise<TransferHello> {
  for (;;) {
    const line = await reader.line(LONGEST_LINE)
    const hello = TransferHello.safeParse(line).data
    if (hello) return hello
    const part = TransferPart.safeParse(line).data
    if (part && 'failed' in part) throw giverSays(part.failed)
    if (!part || !('wait' in part)) throw new TransferBroken('no hello')
  }
}

const giverSays = (text: string) =>
  new AppError('unavailable', because('transfer_giver_says', { text: cleanLine(text) }))

interface Receiving {
  readonly offer: ImageOffer
  readonly hello: TransferHello
  readonly staged: StagedFiles
  /** Bytes of the files that broken transfers have left, by digest. */
  readonly kept: ReadonlyMap<string, number>
  /** Names that givers had for them. */
  readonly names: ReadonlyMap<string, string>
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** @throws TransferBroken, `image_not_found`, `unavailable`, `disk_full` */
async function receiveFiles(
  reader: TransferReader,
  { offer, hello, staged, kept, names, progress, signal }: Receiving,
): Promise<void> {
  const wanted = new Set([offer.id, ...hello.layers])
  // Files that broken transfers have left count as well: a giver could break off again and again, and send other files each time.
  let left = mostBytes(offer.sizeBytes) - sum(kept.values())
  for (let files = names.size; ;) {
    const part = TransferPart.safeParse(await reader.line(LONGEST_LINE)).data
    signal.throwIfAborted()
    if (!part) throw new TransferBroken('a line that is not of the protocol')
    if ('wait' in part) continue
    if ('end' in part) return
    if ('failed' in part) throw giverSays(part.failed)
    left -= part.bytes
    if (left < 0 || ++files > MOST_FILES) {
      await staged.remove()
      throw new AppError('image_not_found', because('transfer_too_large'))
    }
    const named = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(part.name)?.[1]
    const isWanted = (digest: string) => (hello.store === 'layers' ? wanted.has(digest) : digest === `sha256:${named}`)
    const digest = await staged.add(part.name, progress.count(part, reader.bytes(part.bytes)), isWanted)
    if (digest === undefined) {
      // Giving up at once: a host that sends something else once would do so for ever.
      if (hello.store === 'blobs' || !isOther(part.name)) {
        await staged.remove()
        throw notIt()
      }
    }
  }
}

/** Whether an archive of an engine has files of this name besides layers and the configuration, such as manifests. */
const isOther = (name: string) => name.startsWith('blobs/sha256/')

interface Progress {
  count(part: { name: string; bytes: number }, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined>
  tell(status: string): void
}

interface ProgressOf {
  readonly offer: ImageOffer
  readonly hello: TransferHello
  readonly present: Present
  /** Bytes of the files that were there before, by digest. */
  readonly kept: ReadonlyMap<string, number>
  readonly onProgress: (progress: PullProgress) => void
  readonly everyMs: number
}

/** Progress in the form of a pull. What was there before counts as done. */
function createProgress({ offer, hello, present, kept, onProgress, everyMs }: ProgressOf): Progress {
  const layers: PullProgress['layers'] = []
  const startedAt = performance.now()
  const before = sum(kept.values())
  const layersBefore = hello.layers.filter(layer => present.layers.has(layer) || kept.has(layer)).length
  let saidAt = -Infinity
  const tell = () => {
    saidAt = performance.now()
    const arrived = sum(layers.map(layer => layer.bytesDone))
    const done = layers.filter(({ bytesDone, bytesTotal }) => bytesDone === bytesTotal).length
    const bytesDone = before + arrived
    const seconds = (performance.now() - startedAt) / 1000
    onProgress({
      layersDone: Math.min(hello.layers.length, layersBefore + done),
      layersTotal: hello.layers.length,
      bytesDone,
      // Layers that are here already are part of the size, but are not sent.
      bytesTotal: Math.max(bytesDone, offer.sizeBytes - present.bytes),
      ...(arrived > 0 && seconds > 0 ? { bytesPerSecond: Math.round(arrived / seconds) } : {}),
      layers: [...layers],
    })
  }
  tell()
  return {
    async *count({ name, bytes }, source) {
      const id = name.replace('blobs/sha256/', '').slice(0, 12)
      const at = layers.push({ id, status: 'Downloading', bytesDone: 0, bytesTotal: bytes }) - 1
      let bytesDone = 0
      for await (const chunk of source) {
        bytesDone += chunk.length
        layers[at] = { id, status: 'Downloading', bytesDone, bytesTotal: bytes }
        if (performance.now() - saidAt >= everyMs) tell()
        yield chunk
      }
      layers[at] = { id, status: 'Download complete', bytesDone: bytes, bytesTotal: bytes }
    },
    tell(status) {
      for (const [at, layer] of layers.entries()) layers[at] = { ...layer, status }
      tell()
    },
  }
}
