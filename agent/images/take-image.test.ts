import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { extract, pack } from 'tar-stream'
import { expect, onTestFinished, test } from 'vitest'
import { type ImageOffer } from '#agent/contract'
import { type PullProgress } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { createImageGiver } from './give-image.ts'
import { createImageTaker } from './take-image.ts'
import { lineOf, readTransfer } from './transfer-lines.ts'

/** Two engines that exist in memory only, and a socket between them. Real engines: test/engine/images-between-agents.test.ts. */
const sha256 = (bytes: Buffer | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const hexadecimal = (digest: string) => digest.replace('sha256:', '')

interface FakeImage {
  readonly id: string
  readonly layers: readonly Buffer[]
  readonly config: string
}
function imageOf(...layers: Buffer[]): FakeImage {
  const config = JSON.stringify({ rootfs: { type: 'layers', diff_ids: layers.map(sha256) } })
  return { id: sha256(config), layers, config }
}

type Files = readonly (readonly [name: string, content: Buffer | string])[]
/** As Docker 20.10 writes it. */
const legacy = ({ id, layers, config }: FakeImage): Files => [
  [`${hexadecimal(id)}.json`, config],
  ...layers.map((layer, at) => [`${hexadecimal(sha256(`v1 ${String(at)}`))}/layer.tar`, layer] as const),
  ['manifest.json', '[{"RepoTags":["somebody/elses:1"]}]'],
]
/** As Docker 25 and newer write it. */
const oci = ({ id, layers, config }: FakeImage): Files => [
  [`blobs/sha256/${hexadecimal(id)}`, config],
  ...layers.map(layer => [`blobs/sha256/${hexadecimal(sha256(layer))}`, layer] as const),
  [`blobs/sha256/${hexadecimal(sha256('{}'))}`, '{}'],
  ['index.json', '{}'],
]

async function bufferOf(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

interface FakeEngine {
  readonly engine: EngineClient
  /** Names of the files of each archive that was loaded. */
  readonly loaded: Map<string, Buffer>[]
  /** How many bytes of archives were read. */
  archives: number
}

/** @param held images by id, with the archive that the engine makes */
function fakeEngine(held: Map<string, readonly [FakeImage, Files]>, snapshotter = false): FakeEngine {
  const loaded: Map<string, Buffer>[] = []
  const missing = () => Object.assign(new Error('no such image'), { statusCode: 404 })
  const names = new Map<string, string>()
  const fake: FakeEngine = { engine: undefined as never, loaded, archives: 0 }
  const getImage = (name: string) => ({
    inspect() {
      const image = held.get(names.get(name) ?? name)?.[0]
      if (!image) return Promise.reject(missing())
      const size = image.layers.reduce((sum, layer) => sum + layer.length, 0)
      return Promise.resolve({
        Id: image.id,
        Config: {},
        Size: size,
        Architecture: 'amd64',
        RootFS: { Layers: image.layers.map(sha256) },
      })
    },
    tag({ repo, tag }: { repo: string; tag: string }) {
      names.set(`${repo}:${tag}`, name)
      return Promise.resolve()
    },
  })
  const calls = {
    getImage,
    info: () => Promise.resolve({ DriverStatus: snapshotter ? [['driver-type', 'io.containerd.snapshotter.v1']] : [] }),
    listImages: () => Promise.resolve([...held.keys()].map(Id => ({ Id }))),
  }
  const streams = {
    modem: {
      dial({ path }: { path: string }, done: (error: Error | null, data?: Readable) => void) {
        const found = held.get(path.split('/')[2] ?? '')
        if (!found) {
          done(missing())
          return
        }
        fake.archives++
        const archive = pack()
        for (const [name, content] of found[1]) archive.entry({ name }, content)
        archive.finalize()
        done(null, Readable.from(archive, { objectMode: false }))
      },
    },
    async loadImage(archive: Readable) {
      const files = new Map<string, Buffer>()
      const entries = extract()
      archive.pipe(entries)
      for await (const entry of entries) files.set(entry.header.name, await bufferOf(entry))
      loaded.push(files)
      const [manifest] = JSON.parse(files.get('manifest.json')?.toString() ?? '[]') as {
        Config: string
        RepoTags: string[]
      }[]
      const config = files.get(manifest?.Config ?? '')?.toString() ?? ''
      held.set(sha256(config), [{ ...imageOf(), id: sha256(config), config }, []])
      for (const tag of manifest?.RepoTags ?? []) names.set(tag, sha256(config))
      return Readable.from(['{"stream":"Loaded"}\n'])
    },
  }
  return Object.assign(fake, { engine: { calls, streams } as unknown as EngineClient })
}

async function socketPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const address = server.address()
  const dialled = connect({ port: (address as { port: number }).port, host: '127.0.0.1', allowHalfOpen: true })
  const [other] = await accepted
  server.close()
  for (const socket of [dialled, other]) socket.on('error', () => undefined)
  onTestFinished(() => [dialled, other].forEach(socket => socket.destroy()))
  return [dialled, other]
}

interface Stand {
  readonly taker: ReturnType<typeof createImageTaker>
  readonly to: FakeEngine
  readonly directory: string
  take(offer: ImageOffer, signal?: AbortSignal): ReturnType<ReturnType<typeof createImageTaker>['take']>
  readonly progress: PullProgress[]
}
async function aTaker(
  to = fakeEngine(new Map()),
  timings: Parameters<typeof createImageTaker>[0]['timings'] = {},
): Promise<Stand> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-taken-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const taker = createImageTaker({ engine: to.engine, directory, floorBytes: 0, timings })
  onTestFinished(() => taker[Symbol.dispose]())
  const progress: PullProgress[] = []
  return {
    taker,
    to,
    directory,
    progress,
    take: (offer, signal = new AbortController().signal) =>
      taker.take(offer, { signal, onProgress: one => progress.push(one) }),
  }
}
const offerOf = ({ id, layers }: FakeImage, more: Partial<ImageOffer> = {}): ImageOffer => ({
  transferId: randomUUID(),
  id,
  references: ['lab/box:1'],
  sizeBytes: layers.reduce((sum, layer) => sum + layer.length, 0),
  ...more,
})
const quiet = { info: () => undefined }
const staged = async ({ directory }: Stand) =>
  readdir(join(directory, 'taken-images'), { recursive: true }).catch(() => [])

/** A giver that says what a test wants, after its hello. */
async function hostile(stand: Stand, offer: ImageOffer, say: (wire: Socket) => void, layers: readonly string[] = []) {
  const [far, wire] = await socketPair()
  stand.taker.serve(offer.transferId, wire)
  far.write(lineOf({ store: 'layers', layers, bytes: 1 }))
  const have = await readTransfer(far).line(2 ** 16)
  say(far)
  return have as { digests: string[]; names: string[] }
}

test.each([
  ['of Docker 20.10', legacy],
  ['of Docker 25', oci],
])(
  'an image is the same on the other engine, and its names are those of the request; archive %s',
  async (_name, files) => {
    const image = imageOf(randomBytes(300_000), randomBytes(70_000))
    const from = fakeEngine(new Map([[image.id, [image, files(image)]]]))
    const stand = await aTaker()
    const offer = offerOf(image)
    const [far, wire] = await socketPair()
    createImageGiver(from.engine, quiet).serve(image.id, far)
    stand.taker.serve(offer.transferId, wire)
    expect(await stand.take(offer)).toMatchObject({ id: image.id })
    const [archive] = stand.to.loaded
    expect(JSON.parse(archive?.get('manifest.json')?.toString() ?? '')).toMatchObject([{ RepoTags: ['lab/box:1'] }])
    const contents = Array.from(archive?.values() ?? [], sha256)
    for (const layer of image.layers) expect(contents).toContain(sha256(layer))
    expect(archive?.size).toBe(4)
    expect(await staged(stand)).toEqual([])
    expect(stand.progress.at(-1)).toMatchObject({ layersDone: 2, layersTotal: 2 })
  },
)

test('after a giver that is gone, the next one sends only what has not arrived', async () => {
  const [first, second] = [randomBytes(200_000), randomBytes(100_000)]
  const image = imageOf(first, second)
  const stand = await aTaker()
  const offer = offerOf(image)
  const taken = stand.take(offer)
  const layers = image.layers.map(sha256)
  await hostile(
    stand,
    offer,
    wire => {
      wire.write(lineOf({ name: `blobs/sha256/${hexadecimal(sha256(first))}`, bytes: first.length }))
      wire.write(first)
      wire.write(lineOf({ name: `blobs/sha256/${hexadecimal(sha256(second))}`, bytes: second.length }))
      wire.end(second.subarray(0, 50_000))
    },
    layers,
  )
  await expect.poll(() => staged(stand)).toContain(`${hexadecimal(image.id)}/${hexadecimal(sha256(first))}`)
  const sent: string[] = []
  const have = await hostile(
    stand,
    offer,
    wire => {
      for (const [name, content] of oci(image).filter(([one]) => one.startsWith('blobs'))) {
        if (content === first) continue
        sent.push(name)
        wire.write(lineOf({ name, bytes: Buffer.byteLength(content) }))
        wire.write(content)
      }
      wire.end(lineOf({ end: true }))
    },
    layers,
  )
  expect(have.digests).toContain(sha256(first))
  expect(have.digests).not.toContain(sha256(second))
  expect(await taken).toMatchObject({ id: image.id })
})

test('layers that the engine has for another image are not sent', async () => {
  const base = randomBytes(100_000)
  const image = imageOf(base, randomBytes(1_000))
  const from = fakeEngine(new Map([[image.id, [image, oci(image)]]]))
  const other = imageOf(base)
  const stand = await aTaker(fakeEngine(new Map([[other.id, [other, []]]])))
  const offer = offerOf(image)
  const [far, wire] = await socketPair()
  createImageGiver(from.engine, quiet).serve(image.id, far)
  stand.taker.serve(offer.transferId, wire)
  await stand.take(offer)
  expect(far.bytesWritten).toBeLessThan(10_000)
})

const image = imageOf(randomBytes(10_000))
const LAYER = image.layers[0] ?? Buffer.alloc(0)
const LIES: readonly (readonly [string, (wire: Socket) => void, string])[] = [
  [
    'a layer with other bytes',
    wire => {
      wire.write(lineOf({ name: `${'a'.repeat(64)}/layer.tar`, bytes: LAYER.length }))
      wire.end(randomBytes(LAYER.length))
    },
    'transfer_not_it',
  ],
  [
    'a path outside, as the name of a file',
    wire => {
      wire.write(lineOf({ name: '../../../../etc/cron.d/evil', bytes: 4 }))
      wire.end('evil')
    },
    'transfer_not_it',
  ],
  ['a file without an end', wire => wire.end(lineOf({ name: 'blobs/sha256/x', bytes: 2 ** 40 })), 'transfer_too_large'],
  ['no file at all', wire => wire.end(lineOf({ end: true })), 'transfer_not_it'],
  ['words of its engine', wire => wire.end(lineOf({ failed: 'no such image' })), 'transfer_giver_says'],
]
test.each(LIES)('nothing is loaded or kept of a giver that sends %s', async (_name, say, cause) => {
  const stand = await aTaker()
  const offer = offerOf(image)
  const taken = stand.take(offer)
  const layers = image.layers.map(sha256)
  const failed = expect(taken).rejects.toMatchObject({ detail: { cause } })
  await hostile(stand, offer, say, layers)
  await failed
  expect(stand.to.loaded).toEqual([])
  expect(await staged(stand)).toEqual([])
})

test('another configuration with the same layers is not the image', async () => {
  const stand = await aTaker()
  const offer = offerOf(image)
  const taken = stand.take(offer)
  const failed = expect(taken).rejects.toMatchObject({ detail: { cause: 'transfer_not_it' } })
  const config = `${image.config} `
  await hostile(
    stand,
    offer,
    wire => {
      wire.write(lineOf({ name: `${hexadecimal(image.id)}.json`, bytes: config.length }))
      wire.end(config)
    },
    image.layers.map(sha256),
  )
  await failed
})

test('an engine with another store is refused before anything is sent', async () => {
  const from = fakeEngine(new Map([[image.id, [image, oci(image)]]]), true)
  const stand = await aTaker()
  const offer = offerOf(image)
  const [far, wire] = await socketPair()
  createImageGiver(from.engine, quiet).serve(image.id, far)
  stand.taker.serve(offer.transferId, wire)
  await expect(stand.take(offer)).rejects.toMatchObject({ detail: { cause: 'transfer_other_store' } })
  expect(from.archives).toBe(0)
})

test('a giver that falls silent, again and again, ends the request', async () => {
  const stand = await aTaker(fakeEngine(new Map()), { quietMs: 20 })
  const offer = offerOf(image)
  const taken = stand.take(offer)
  const failed = expect(taken).rejects.toMatchObject({ code: 'unavailable', detail: { cause: 'transfer_broken' } })
  for (let times = 0; times < 5; times++) {
    const [far, wire] = await socketPair()
    stand.taker.serve(offer.transferId, wire)
    await once(far.resume(), 'end')
  }
  await failed
})

test('a request that is cancelled closes the socket, and keeps the layers for the next one', async () => {
  const stand = await aTaker()
  const offer = offerOf(image)
  const cancelled = new AbortController()
  const taken = stand.take(offer, cancelled.signal)
  const failed = expect(taken).rejects.toThrow('cancelled')
  let far: Socket | undefined
  await hostile(
    stand,
    offer,
    wire => {
      far = wire
      wire.write(lineOf({ name: `${'a'.repeat(64)}/layer.tar`, bytes: LAYER.length }))
      wire.write(LAYER)
    },
    image.layers.map(sha256),
  )
  const kept = `${hexadecimal(image.id)}/${hexadecimal(sha256(LAYER))}`
  await expect.poll(() => staged(stand)).toContain(kept)
  const closed = once(far?.resume() as Socket, 'end')
  cancelled.abort(new Error('cancelled'))
  await closed
  await failed
  expect(await staged(stand)).toContain(kept)
})

test('half of a file that an agent was killed at goes with the next start, whole ones stay', async () => {
  const stand = await aTaker()
  const directory = join(stand.directory, 'taken-images', hexadecimal(image.id))
  await mkdir(directory, { recursive: true })
  const whole = hexadecimal(sha256(LAYER))
  for (const name of [whole, 'partial']) await writeFile(join(directory, name), 'bytes')
  const next = createImageTaker({ engine: stand.to.engine, directory: stand.directory, floorBytes: 0 })
  onTestFinished(() => next[Symbol.dispose]())
  await expect.poll(() => readdir(directory)).toEqual([whole])
})

test('what broken transfers have left counts towards the bound, and goes with it', async () => {
  const image = imageOf(randomBytes(1_000))
  const stand = await aTaker()
  const offer = offerOf(image)
  const directory = join(stand.directory, 'taken-images', hexadecimal(image.id))
  await mkdir(directory, { recursive: true })
  const kept = join(directory, hexadecimal(sha256('sent by a giver that broke off')))
  await writeFile(kept, '')
  // Sparse: it takes no room on the disk.
  await truncate(kept, 2 ** 28 + 1_500)
  const taken = stand.take(offer)
  taken.catch(() => undefined)
  await hostile(stand, offer, wire => wire.end(lineOf({ name: `${hexadecimal(image.id)}.json`, bytes: 600 })))
  await expect(taken).rejects.toMatchObject({ detail: { cause: 'transfer_too_large' } })
  expect(await staged(stand)).toEqual([])
})

test('a request that is cancelled while another image arrives ends at once, and lets nobody pass that one', async () => {
  const [image, second, third] = [1_000, 2_000, 3_000].map(bytes => imageOf(randomBytes(bytes))) as [
    FakeImage,
    FakeImage,
    FakeImage,
  ]
  const stand = await aTaker()
  const arriving = offerOf(image)
  const taken = stand.take(arriving)
  const { promise, resolve } = Promise.withResolvers<Socket>()
  await hostile(stand, arriving, resolve, image.layers.map(sha256))
  const giver = await promise

  const cancelled = new AbortController()
  const waiting = offerOf(second)
  const [, itsWire] = await socketPair()
  stand.taker.serve(waiting.transferId, itsWire)
  const waits = stand.take(waiting, cancelled.signal)
  setImmediate(() => cancelled.abort(new Error('cancelled')))
  await expect(waits).rejects.toThrow('cancelled')
  expect(itsWire.destroyed).toBe(true)

  const next = offerOf(third)
  const [far, wire] = await socketPair()
  stand.taker.serve(next.transferId, wire)
  far.write(lineOf({ store: 'layers', layers: [], bytes: 1 }))
  const last = new AbortController()
  const lasts = stand.take(next, last.signal)
  lasts.catch(() => undefined)
  const have = readTransfer(far).line(2 ** 16)
  const first = await Promise.race([
    have.then(() => 'the third'),
    (async () => {
      for (const [name, content] of oci(image).filter(([one]) => one.startsWith('blobs'))) {
        giver.write(lineOf({ name, bytes: Buffer.byteLength(content) }))
        giver.write(content)
      }
      giver.end(lineOf({ end: true }))
      await taken
      return 'the first'
    })(),
  ])
  expect(first).toBe('the first')
  await have
  last.abort(new Error('the end of the test'))
})
