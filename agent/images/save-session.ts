import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { defined } from '#base/defined'
import { AppError, because, type PullProgress } from '#manager/contract'
import { LABEL_MADE_BY } from '#agent/contract'
import { type EngineClient, fromEngine } from '../docker/engine-client.ts'
import { readLines } from '../docker/lines.ts'
import { imageChanges, type ImageSettings } from './image-changes.ts'
import { inspectImage, PullLine } from './pull.ts'

export interface SavedSession {
  readonly containerId: string
  /** Name of the new image, with a tag. */
  readonly reference: string
  /** Title of the new image; null keeps the title of the session's image. */
  readonly title: string | null
  /** Name of the session's owner, for the label that says so. */
  readonly madeBy: string | undefined
}

const PROGRESS_EVERY_MS = 500

/**
 * Makes an image of the file system of a running session, on this engine.
 *
 * Threat model: everybody who may launch the image can read all of it, so it must not contain anything that Berth gave the session. The
 * engine's own `commit` writes the container's environment and labels into the image, and they cannot be removed. So the file system is
 * exported and imported, with the settings of the session's image instead of the container's. Mounts are not exported: home, folders, keys
 * and passwords (`/run/berth`) and the toolbox stay out. Files that programs of the session wrote elsewhere are in the image, including any
 * secrets; pages and commands say so.
 *
 * @throws `image_exists`, `engine_unreachable`, `disk_full`, `internal` with the engine's words
 */
export async function saveSession(
  engine: EngineClient,
  { containerId, reference, title, madeBy }: SavedSession,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (progress: PullProgress) => void },
): Promise<{ id: string }> {
  if (await inspectImage(engine, reference)) throw new AppError('image_exists', { reference })
  try {
    const { Image } = await engine.calls.getContainer(containerId).inspect()
    const { Config, Size } = await engine.calls.getImage(Image).inspect()
    const settings = Config as ImageSettings
    const labels = labelsOf(settings.Labels ?? {}, { title, madeBy })
    const colon = reference.lastIndexOf(':')
    const changes = imageChanges({ ...settings, Labels: labels })
    const exported = await engine.streams.getContainer(containerId).export({ abortSignal: signal })
    const counted = countBytes(bytes => onProgress(progressOf(bytes, Size)))
    // The import reads while the export writes; a failure of either ends both.
    const copying = pipeline(exported, counted, { signal })
    copying.catch(() => undefined)
    const answer = await engine.streams.importImage(counted, {
      repo: reference.slice(0, colon),
      tag: reference.slice(colon + 1),
      changes,
      abortSignal: signal,
    })
    for await (const text of readLines(answer)) {
      const { error } = PullLine.parse(JSON.parse(text))
      if (error !== undefined) throw new Error(error)
    }
    await copying
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError) throw error
    throw fromEngine(error, 'internal')
  }
  const made = await inspectImage(engine, reference)
  if (!made) throw new AppError('internal', because('made_image_gone'))
  return { id: made.id }
}

/**
 * Labels of the new image. Of Berth's labels, those that describe the image are kept; the others say how the old image was made, which is
 * no longer true.
 */
function labelsOf(
  labels: Readonly<Record<string, string>>,
  { title, madeBy }: Pick<SavedSession, 'title' | 'madeBy'>,
): Record<string, string> {
  const kept = Object.entries(labels).filter(([name]) => !name.startsWith('berth.') || name.startsWith('berth.image.'))
  return {
    ...Object.fromEntries(kept),
    ...(title === null ? {} : { 'berth.image.title': title }),
    ...defined({ [LABEL_MADE_BY]: madeBy }),
  }
}

/** Passes bytes through and reports their number, at most twice a second. */
function countBytes(tell: (bytes: number) => void): Transform {
  let bytes = 0
  let told = -Infinity
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      const now = performance.now()
      if (now - told >= PROGRESS_EVERY_MS) {
        told = now
        tell(bytes)
      }
      done(null, chunk)
    },
  })
}

/** @param expected size of the session's image; the new one is about as large */
function progressOf(bytesDone: number, expected: number): PullProgress {
  return { layersDone: 0, layersTotal: 1, bytesDone, bytesTotal: Math.max(expected, bytesDone), layers: [] }
}
