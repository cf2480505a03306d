import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pack, type Pack } from 'tar-stream'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { type ImageOffer, type TransferHello } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { type EngineClient, fromEngine } from '../docker/engine-client.ts'
import { readLines } from '../docker/lines.ts'
import { type StagedFiles } from './staged-files.ts'

/** Largest configuration or manifest of an image, in bytes. */
const MOST_TEXT = 8 * 2 ** 20

const Configuration = z.object({ rootfs: z.object({ diff_ids: z.array(z.string()).max(1_000) }) })
const Descriptor = z.object({ digest: z.string(), mediaType: z.string().optional() })
const Manifest = z.object({
  mediaType: z.string().optional(),
  config: Descriptor.optional(),
  layers: z.array(Descriptor).max(1_000).optional(),
  manifests: z.array(Descriptor).max(1_000).optional(),
})

/** Archive as the engine gets it: files by digest, and texts that this agent writes. */
export interface TakenArchive {
  readonly texts: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, string>
}

/**
 * Makes the archive with which the engine gets the image, from files whose digests are right. Everything that gives names is written here: an
 * archive of the giver could name any image of this engine.
 *
 * @param present digests of unpacked layers that the engine has already, of this image's lowest layers: they need no file
 * @returns undefined if the files are not those of the image
 */
export async function archiveOf(
  offer: Pick<ImageOffer, 'id' | 'references'>,
  { store, staged, present }: { store: TransferHello['store']; staged: StagedFiles; present: ReadonlySet<string> },
): Promise<TakenArchive | undefined> {
  const files = await staged.list()
  return store === 'layers' ? layersOf(offer, files, staged, present) : blobsOf(offer, files, staged)
}

async function layersOf(
  { id, references }: Pick<ImageOffer, 'id' | 'references'>,
  files: ReadonlyMap<string, number>,
  staged: StagedFiles,
  present: ReadonlySet<string>,
): Promise<TakenArchive | undefined> {
  const config = Configuration.safeParse(parseJson((await staged.text(id, MOST_TEXT)) ?? '')).data
  if (!config) return undefined
  const layers = config.rootfs.diff_ids
  if (!layers.every(layer => files.has(layer) || present.has(layer))) return undefined
  const layerFile = (digest: string) => `${hexadecimal(digest)}/layer.tar`
  const configFile = `${hexadecimal(id)}.json`
  const manifest = [{ Config: configFile, RepoTags: namesOf(references), Layers: layers.map(layerFile) }]
  return {
    texts: new Map([['manifest.json', JSON.stringify(manifest)]]),
    files: new Map([
      [configFile, id],
      ...[...new Set(layers)].flatMap(layer => (files.has(layer) ? [[layerFile(layer), layer] as const] : [])),
    ]),
  }
}

async function blobsOf(
  { id, references }: Pick<ImageOffer, 'id' | 'references'>,
  files: ReadonlyMap<string, number>,
  staged: StagedFiles,
): Promise<TakenArchive | undefined> {
  const root = Manifest.safeParse(parseJson((await staged.text(id, MOST_TEXT)) ?? '')).data
  if (!root) return undefined
  // An engine may have only the manifests of some platforms of an index.
  const below = root.manifests?.filter(({ digest }) => files.has(digest)) ?? []
  const manifests = await Promise.all(
    below.map(async ({ digest }) => Manifest.safeParse(parseJson((await staged.text(digest, MOST_TEXT)) ?? '')).data),
  )
  const isWhole = (manifest: z.infer<typeof Manifest> | undefined) =>
    manifest?.config !== undefined &&
    [manifest.config, ...(manifest.layers ?? [])].every(({ digest }) => files.has(digest))
  if (!isWhole(root) && !manifests.some(isWhole)) return undefined
  const mediaType = root.mediaType ?? 'application/vnd.oci.image.manifest.v1+json'
  const entry = (reference?: string) => ({
    mediaType,
    digest: id,
    size: files.get(id) ?? 0,
    ...(reference === undefined
      ? {}
      : {
          annotations: {
            'io.containerd.image.name': fullName(reference),
            'org.opencontainers.image.ref.name': /:([^/:]+)$/.exec(reference)?.[1] ?? 'latest',
          },
        }),
  })
  const names = namesOf(references)
  const index = { schemaVersion: 2, manifests: names.length === 0 ? [entry()] : names.map(entry) }
  return {
    texts: new Map([
      ['oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' })],
      ['index.json', JSON.stringify(index)],
    ]),
    files: new Map([...files.keys()].map(digest => [`blobs/sha256/${hexadecimal(digest)}`, digest])),
  }
}

const hexadecimal = (digest: string) => digest.replace('sha256:', '')
/** The references that are names: an image cannot be given a digest. */
export const namesOf = (references: readonly string[]) => references.filter(name => !name.includes('@'))

/** The name as containerd knows it: `box:1` is `docker.io/library/box:1`. */
function fullName(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  if (rest.length === 0) return `docker.io/library/${reference}`
  return /[.:]/.test(first) || first === 'localhost' ? reference : `docker.io/${reference}`
}

const Failed = z.object({ error: z.string() })

/** Loads the archive into the engine. @throws `image_not_found` with the engine's words, `disk_full`, `engine_unreachable`; the signal's reason */
export async function loadTaken(
  { streams }: EngineClient,
  { texts, files }: TakenArchive,
  { staged, signal }: { staged: StagedFiles; signal: AbortSignal },
): Promise<void> {
  const archive = pack()
  const sizes = await staged.list()
  const fill = async () => {
    for (const [name, digest] of files) {
      const entry = archive.entry({ name, size: sizes.get(digest) ?? 0 })
      await pipeline(staged.read(digest), entry)
    }
    for (const [name, text] of texts) await writeText(archive, name, text)
    archive.finalize()
  }
  const filling = fill().catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : undefined)
  })
  try {
    const told = await streams.loadImage(Readable.from(archive, { objectMode: false }), {
      abortSignal: signal,
      quiet: true,
    })
    for await (const line of readLines(told)) {
      const { data } = Failed.safeParse(parseJson(line))
      if (data) throw fromEngine(new Error(data.error), 'image_not_found')
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError) throw error
    throw fromEngine(error, 'image_not_found')
  } finally {
    archive.destroy()
    await filling
  }
}

const writeText = (archive: Pack, name: string, text: string) =>
  new Promise<void>((resolve, reject) => archive.entry({ name }, text, error => (error ? reject(error) : resolve())))

/** For an archive whose files are not the image's. */
export const notIt = () => new AppError('image_not_found', because('transfer_not_it'))
