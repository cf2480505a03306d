import { type RegistryAuth } from '#agent/contract'
import { AppError, because, type PullProgress } from '#manager/contract'
import { type EngineClient, engineMessage, fromEngine, isEngineUnreachable } from '../docker/engine-client.ts'
import { nameImage } from './ensure-image.ts'
import { readLines } from '../docker/lines.ts'
import { PullLine, toAuthConfig } from './pull.ts'

const PROGRESS_EVERY_MS = 250

type Layer = PullProgress['layers'][number]
export type PushState = ReadonlyMap<string, Layer>

const DONE = new Set(['Pushed', 'Layer already exists'])
/** Whether the status of a layer is final. That of a mounted layer names the repository that has it. */
const isDone = (status: string) => DONE.has(status) || status.startsWith('Mounted from')

/** Adds one line of the engine's answer to the state of a push. A layer that the registry already has counts 0 bytes. */
export function advancePush(state: PushState, { id, status, progressDetail }: PullLine): PushState {
  if (id === undefined || status === undefined || !/^[0-9a-f]{8,64}$/.test(id)) return state
  const before = state.get(id) ?? { id, status, bytesDone: 0, bytesTotal: 0 }
  const bytesTotal = Math.max(progressDetail?.total ?? 0, before.bytesTotal)
  // The engine counts the compressed bytes, which may be a little more than it expected.
  const sent = isDone(status) ? bytesTotal : (progressDetail?.current ?? before.bytesDone)
  return new Map(state).set(id, { id, status, bytesTotal, bytesDone: Math.min(sent, bytesTotal) })
}

export function summarizePush(state: PushState): PullProgress {
  const layers = [...state.values()]
  return {
    layersDone: layers.filter(({ status }) => isDone(status)).length,
    layersTotal: layers.length,
    bytesDone: layers.reduce((sum, { bytesDone }) => sum + bytesDone, 0),
    bytesTotal: layers.reduce((sum, { bytesTotal }) => sum + bytesTotal, 0),
    layers,
  }
}

export interface PushedImage {
  /** Name of an image of this engine. */
  readonly reference: string
  /** Name for the image in the registry, with the registry's host and a tag. */
  readonly target: string
  /** Credentials of the registry; sent to the engine in a header of this one request, and nowhere else. */
  readonly auth?: RegistryAuth | undefined
}

/**
 * Gives an image of this engine a name in a registry, and pushes it there. The new name stays, as after a pull; it is removed if the push
 * fails or is aborted.
 *
 * @throws `image_not_found`, `image_push_failed` with the registry's message, `engine_unreachable`
 */
export async function pushImage(
  engine: EngineClient,
  { reference, target, auth }: PushedImage,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (progress: PullProgress) => void },
): Promise<void> {
  await nameImage(engine, reference, target)
  try {
    let state: PushState = new Map()
    let saidAt = -Infinity
    const stream = await engine.streams.getImage(target).push({
      abortSignal: signal,
      // The engine requires the header even without credentials.
      authconfig: auth ? toAuthConfig(auth) : { serveraddress: '', username: '', password: '' },
    })
    for await (const text of readLines(stream)) {
      signal.throwIfAborted()
      const line = PullLine.parse(JSON.parse(text))
      if (line.error !== undefined)
        throw new AppError('image_push_failed', { ...because('docker_says', { text: line.error }), reference: target })
      state = advancePush(state, line)
      const now = performance.now()
      if (now - saidAt < PROGRESS_EVERY_MS) continue
      saidAt = now
      onProgress(summarizePush(state))
    }
    onProgress(summarizePush(state))
  } catch (error) {
    await engine.calls
      .getImage(target)
      .remove({ noprune: true })
      .catch(() => undefined)
    signal.throwIfAborted()
    if (error instanceof AppError) throw error
    if (isEngineUnreachable(error)) throw fromEngine(error, 'internal')
    throw new AppError(
      'image_push_failed',
      { ...because('docker_says', { text: engineMessage(error) }), reference: target },
      { cause: error },
    )
  }
}
