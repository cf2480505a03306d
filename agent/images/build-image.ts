import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import { z } from 'zod'
import { AppError, because } from '#manager/contract'
import { type EngineClient, engineMessage, fromEngine, isEngineUnreachable } from '../docker/engine-client.ts'
import { readLines } from '../docker/lines.ts'
import { inspectImage } from './pull.ts'

export interface ImageRecipe {
  /** Name of the new image, with a tag. */
  readonly reference: string
  /** Text of a Dockerfile. */
  readonly recipe: string
}

/** A line of the engine's answer to a build. */
const BuildLine = z.object({
  stream: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
})

const TELL_EVERY_MS = 250
/** Limits of a build step: 8 GiB of memory, and half the CPU weight of a session. */
const LIMITS = { memory: 8 * 2 ** 30, memswap: 8 * 2 ** 30, cpushares: 512 }

/**
 * Builds an image from the text of a Dockerfile, on this engine.
 *
 * Threat model: the author of the recipe runs commands as root in containers of the engine's builder, outside of the isolation of sessions:
 * on the engine's default network, not behind the session firewall. So only superadmins may build (the manager checks). The context is the
 * Dockerfile alone: no file of the host, no socket and no secret of Berth can be copied into the image. The containers get no privileges,
 * devices or mounts, and the limits above. An image that exists is never replaced.
 *
 * @param onLog gets the engine's output as it arrives
 * @throws `image_exists`, `image_build_failed` with the engine's words, `engine_unreachable`
 */
export async function buildImage(
  engine: EngineClient,
  { reference, recipe }: ImageRecipe,
  { signal, onLog }: { signal: AbortSignal; onLog: (text: string) => void },
): Promise<{ id: string }> {
  if (await inspectImage(engine, reference)) throw new AppError('image_exists', { reference })
  const log = collect(onLog)
  try {
    const stream = await engine.streams.buildImage(Readable.from([await contextOf(recipe)]), {
      t: reference,
      // The classic builder: BuildKit needs a separate session connection, and could reach more of the host.
      version: '1',
      forcerm: true,
      ...LIMITS,
      abortSignal: signal,
    })
    for await (const text of readLines(stream)) {
      signal.throwIfAborted()
      const { stream: said, status, error } = BuildLine.parse(JSON.parse(text))
      if (error !== undefined)
        throw new AppError('image_build_failed', { ...because('docker_says', { text: error }), reference })
      if (said !== undefined) log.add(said)
      // Skip progress of pulling a base image, which comes many times a second.
      else if (status !== undefined && !/ing$/.test(status)) log.add(`${status}\n`)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError) throw error
    if (isEngineUnreachable(error)) throw fromEngine(error, 'internal')
    const why = because('docker_says', { text: engineMessage(error) })
    throw new AppError('image_build_failed', { ...why, reference }, { cause: error })
  } finally {
    log.flush()
  }
  const made = await inspectImage(engine, reference)
  if (!made) throw new AppError('internal', because('made_image_gone'))
  return { id: made.id }
}

/** An archive with the Dockerfile and nothing else. */
async function contextOf(recipe: string): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'Dockerfile' }, recipe)
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Longest text of one notice; of a longer text, only the end is sent. */
const LONGEST_NOTICE = 16_384

/** Sends text in batches, a few times a second, instead of line by line. A batch is sent in time even if the engine sends nothing more. */
function collect(tell: (text: string) => void): { add(text: string): void; flush(): void } {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting !== '') tell(waiting)
    waiting = ''
  }
  return {
    add(text) {
      waiting = (waiting + text).slice(-LONGEST_NOTICE)
      timer ??= setTimeout(flush, TELL_EVERY_MS)
    },
    flush,
  }
}
