import { posix } from 'node:path'
import { type Container } from 'dockerode'
import { extract } from 'tar-stream'
import { type EngineClient, isMissing } from '../docker/engine-client.ts'

/** Largest number of links that are followed from a path to its file. */
const MOST_LINKS = 8
/** Space for the headers of an archive of one file: a long path, its extended header, and the final blocks. */
const HEADER_BYTES = 64 * 2 ** 10

export interface ImageOfFiles {
  /** sha256:… */
  readonly id: string
  /** Paths that the image declares as volumes; the engine would copy each into a volume. */
  readonly volumes: readonly string[]
  /** Prefix of the container's name. Each reader has its own: the next container of that name removes one that a killed agent left. */
  readonly reader: string
}

/**
 * Creates a container from an image, calls `read` with it, and removes it. It is never started, so nothing of the image runs, and changes
 * by sessions in their own containers are not visible.
 */
export async function withImageFiles<T>(
  engine: EngineClient,
  { id, volumes, reader }: ImageOfFiles,
  read: (container: Container) => Promise<T>,
): Promise<T> {
  const name = `${reader}-${id.replace('sha256:', '').slice(0, 20)}`
  await remove(engine, name)
  const container = await engine.calls.createContainer({
    name,
    Image: id,
    // Never run, but the engine requires a command for images that have none.
    Entrypoint: ['none'],
    Cmd: [],
    HostConfig: {
      NetworkMode: 'none',
      Mounts: volumes.map(Target => ({ Type: 'tmpfs' as const, Target, Source: '' })),
    },
  })
  try {
    return await read(container)
  } finally {
    await remove(engine, name)
  }
}

async function remove(engine: EngineClient, name: string): Promise<void> {
  try {
    await engine.calls.getContainer(name).remove({ force: true, v: true })
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** A file of an image that cannot be used, because it is hostile or damaged. Reading it again would give the same result. */
export class UnreadableFile extends Error {
  /** False if something else is there, such as a directory. */
  readonly isFile: boolean
  constructor(message: string, { isFile = true, cause }: { readonly isFile?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause })
    this.isFile = isFile
  }
}

/**
 * Reads a file, following symbolic links. The engine resolves every path inside of the container, so no link leads out of it.
 * @returns undefined if there is no such file
 *
 * @throws UnreadableFile for another kind of file, too many links, and a file above the limit; errors of the engine
 */
export async function readImageFile(
  container: Pick<Container, 'getArchive'>,
  path: string,
  limitBytes: number,
): Promise<Buffer | undefined> {
  let at = path
  for (let links = 0; links <= MOST_LINKS; links++) {
    const found = await readEntry(container, at, limitBytes)
    if (found === undefined || Buffer.isBuffer(found)) return found
    at = posix.resolve(posix.dirname(at), found.linkTo)
  }
  throw new UnreadableFile(`${path} is behind more than ${MOST_LINKS} links`)
}

/** The content of a file, or the target of a link; undefined if there is neither. */
async function readEntry(
  container: Pick<Container, 'getArchive'>,
  path: string,
  limitBytes: number,
): Promise<Buffer | { readonly linkTo: string } | undefined> {
  const archive = await container.getArchive({ path }).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (!archive) return undefined
  const { bytes } = await readStart(archive, limitBytes + HEADER_BYTES)
  const entries = extract()
  // The archive is read first, so that only this loop can fail because of it.
  entries.end(bytes)
  try {
    for await (const entry of entries) {
      const { type, size, linkname } = entry.header
      if (type === 'symlink' && linkname) return { linkTo: linkname }
      if (type !== 'file') throw new UnreadableFile(`${path} is not a file (${type})`, { isFile: false })
      if (size > limitBytes) throw new UnreadableFile(`${path} has more than ${limitBytes} bytes`)
      const chunks: Buffer[] = []
      for await (const chunk of entry) chunks.push(chunk as Buffer)
      return Buffer.concat(chunks)
    }
  } catch (error) {
    if (error instanceof UnreadableFile) throw error
    throw new UnreadableFile(`the engine's archive of ${path} cannot be read`, { cause: error })
  }
  return undefined
}

/** @returns the beginning of a stream up to `limit` bytes, and whether there is more, which is not read */
export async function readStart(
  stream: AsyncIterable<unknown>,
  limit: number,
): Promise<{ readonly bytes: Buffer; readonly cut: boolean }> {
  const chunks: Buffer[] = []
  let total = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    total += chunk.length
    if (total > limit) return { bytes: Buffer.concat(chunks), cut: true }
    chunks.push(chunk)
  }
  return { bytes: Buffer.concat(chunks), cut: false }
}
