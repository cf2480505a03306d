import { posix } from 'node:path'
import { z } from 'zod'
import { defined } from '#base/defined'
import { type RegistryAuth } from '#agent/contract'
import { AppError, because, type PullProgress } from '#manager/contract'
import { type EngineClient, fromEngine, isMissing } from '../docker/engine-client.ts'
import { type ImageProgram } from '../docker/container-config.ts'
import { readLines } from '../docker/lines.ts'

/** A line of the engine's answer to a pull. */
export const PullLine = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  progressDetail: z.object({ current: z.number().optional(), total: z.number().optional() }).optional(),
  error: z.string().optional(),
})
export type PullLine = z.infer<typeof PullLine>

type Layer = PullProgress['layers'][number]
export type PullState = ReadonlyMap<string, Layer>

const DONE = new Set(['Pull complete', 'Already exists'])
/** Lines whose id is a tag, not a layer. */
const NOT_A_LAYER = /^(Pulling from|Digest:|Status:)/

/**
 * Adds one line of the engine's answer to the state of a pull. `bytesDone` counts downloaded bytes. The engine counts unpacking from 0
 * again, so it has a separate figure, `unpacked`.
 */
export function advancePull(state: PullState, line: PullLine): PullState {
  if (line.id === undefined || line.status === undefined || NOT_A_LAYER.test(line.status)) return state
  const before = state.get(line.id) ?? { id: line.id, status: '', bytesDone: 0, bytesTotal: 0 }
  const bytesTotal = line.progressDetail?.total ?? before.bytesTotal
  const downloading = line.status === 'Downloading'
  const unpacked = line.status === 'Extracting' ? line.progressDetail?.current : undefined
  const layer = {
    id: line.id,
    status: line.status,
    bytesDone: downloading
      ? (line.progressDetail?.current ?? before.bytesDone)
      : /complete|Extracting|Verifying/.test(line.status)
        ? bytesTotal
        : before.bytesDone,
    bytesTotal,
    ...defined({ unpacked }),
  }
  return new Map(state).set(line.id, layer)
}

/** Marks every layer as complete after a successful pull, because containerd's image store does not report unpacking. */
export function finishPull(state: PullState): PullState {
  const done = (layer: Layer) => (DONE.has(layer.status) ? layer : { ...layer, status: 'Pull complete' })
  return new Map([...state].map(([id, layer]) => [id, { ...done(layer), bytesDone: layer.bytesTotal }]))
}

export function summarizePull(state: PullState): PullProgress {
  const layers = [...state.values()]
  const sum = (pick: (layer: Layer) => number) => layers.reduce((total, layer) => total + pick(layer), 0)
  return {
    layersDone: layers.filter(layer => DONE.has(layer.status)).length,
    layersTotal: layers.length,
    bytesDone: sum(layer => layer.bytesDone),
    bytesTotal: sum(layer => layer.bytesTotal),
    layers,
  }
}

/** @see Docker Engine API, "Authentication" */
export const toAuthConfig = ({ serverAddress, username, password }: RegistryAuth) => ({
  serveraddress: serverAddress,
  username,
  password,
})

const PROGRESS_EVERY_MS = 250

export interface HeldImage {
  /** sha256:… */
  readonly id: string
  /** `NAME=value`, as the image sets them. */
  readonly environment: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** `repository@sha256:…`. */
  readonly repoDigests: readonly string[]
  readonly program: ImageProgram
  /** Paths in the container that the image declares as volumes. */
  readonly volumes: readonly string[]
  /** Name that Go uses, such as `amd64`; empty if the image does not say. */
  readonly architecture: string
}

/** @returns undefined if the engine does not hold it */
export async function inspectImage(engine: EngineClient, reference: string): Promise<HeldImage | undefined> {
  try {
    const found = await engine.calls.getImage(reference).inspect()
    // Null in images that set none, whatever the types say.
    const environment = found.Config.Env as string[] | null
    const labels = found.Config.Labels as Record<string, string> | null
    const repoDigests = found.RepoDigests as string[] | null
    const program = programOf(found.Config)
    return {
      id: found.Id,
      environment: environment ?? [],
      labels: labels ?? {},
      repoDigests: repoDigests ?? [],
      program,
      volumes: volumesOf(found.Config),
      architecture: found.Architecture,
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw fromEngine(error, 'image_not_found')
  }
}

/** Absolute paths without duplicates. @param config of an image, as the engine returns it */
export function volumesOf(config: unknown): string[] {
  const { Volumes } = config as { Volumes?: Readonly<Record<string, unknown>> | null }
  const paths = Object.keys(Volumes ?? {}).map(path => posix.normalize(`/${path}`).replace(/(?<=.)\/$/, ''))
  return [...new Set(paths)].toSorted()
}

/** If an image sets none, the engine returns null, '' or nothing at all, despite its types. */
function programOf(config: unknown): ImageProgram {
  const { Entrypoint, Cmd, WorkingDir } = config as {
    Entrypoint?: string | string[] | null
    Cmd?: string[] | null
    WorkingDir?: string | null
  }
  return { command: [...[Entrypoint ?? []].flat(), ...(Cmd ?? [])], directory: WorkingDir || '/' }
}

export interface PullOptions {
  readonly signal?: AbortSignal | undefined
  /** Credentials of the registry; sent to the engine in a header of this one request, and nowhere else. */
  readonly auth?: RegistryAuth | undefined
  readonly onProgress?: (progress: PullProgress) => void
}

/**
 * Pulls from the registry that the reference names. Aborting ends the pull in the engine too.
 *
 * @throws `image_not_found` with the registry's message, `disk_full`, `engine_unreachable`
 */
export async function pullImage(
  engine: EngineClient,
  reference: string,
  { signal, auth, onProgress }: PullOptions = {},
): Promise<HeldImage> {
  // Without a tag the engine would pull all tags.
  const exact = /@sha256:|:[^/]+$/.test(reference) ? reference : `${reference}:latest`
  let state: PullState = new Map()
  let saidAt = -Infinity
  try {
    const stream = await engine.streams.pull(exact, {
      ...(signal ? { abortSignal: signal } : {}),
      ...(auth ? { authconfig: toAuthConfig(auth) } : {}),
    })
    for await (const text of readLines(stream)) {
      signal?.throwIfAborted()
      const line = PullLine.parse(JSON.parse(text))
      if (line.error !== undefined) throw pullFailure(line.error, reference)
      state = advancePull(state, line)
      const now = performance.now()
      if (now - saidAt < PROGRESS_EVERY_MS) continue
      saidAt = now
      onProgress?.(summarizePull(state))
    }
    onProgress?.(summarizePull(finishPull(state)))
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof AppError) throw error
    throw pullFailure(error, reference)
  }
  const image = await inspectImage(engine, exact)
  if (!image)
    throw new AppError('image_not_found', {
      ...because('pulled_image_gone'),
      reference,
    })
  return image
}

/** @param error of the engine, or a line of its stream */
export function pullFailure(error: unknown, reference: string): AppError {
  const plain = fromEngine(error, 'image_not_found')
  if (plain.code !== 'image_not_found') return plain
  return new AppError('image_not_found', { ...plain.detail, reference }, { cause: error })
}
