import { type KernelSpec, type RegistryAuth } from '#agent/contract'
import { AppError, because, type PullProgress } from '#manager/contract'
import { type EngineClient, fromEngine } from '../docker/engine-client.ts'
import { type HeldImage, inspectImage, pullImage } from './pull.ts'

type Wanted = KernelSpec['image']

export interface EnsureOptions {
  readonly signal: AbortSignal
  readonly auth: RegistryAuth | undefined
  readonly onPull: (progress: PullProgress) => void
}

/** Looks for the image of a session on the engine, without pulling it. */
export function findHeld(engine: EngineClient, { digest, reference }: Wanted): Promise<HeldImage | undefined> {
  return inspectImage(engine, digest === '' ? reference : digest)
}

/**
 * Provides exactly the session's image, pulling it if necessary. If the manager knows the digest that the registry had under the name, that
 * digest is pulled, whatever the name points to now.
 *
 * @throws `image_not_found`, `engine_unreachable`
 */
export async function ensureImage(
  engine: EngineClient,
  wanted: Wanted,
  { signal, auth, onPull }: EnsureOptions,
): Promise<HeldImage> {
  const { digest, reference, manifestDigest } = wanted
  const held = await findHeld(engine, wanted)
  if (held) return held
  if (manifestDigest !== undefined) {
    const named = await inspectImage(engine, reference)
    if (named && isWanted(named, wanted)) return named
  }
  const exact = manifestDigest === undefined ? reference : `${repositoryOf(reference)}@${manifestDigest}`
  const pulled = await pullImage(engine, exact, { signal, auth, onProgress: onPull })
  if (!isWanted(pulled, wanted) && !(await inspectImage(engine, digest))) {
    throw new AppError('image_not_found', {
      ...because('registry_has_other', { reference }),
      reference,
    })
  }
  // Without a name, an image that was pulled by digest would not be listed.
  if (exact !== reference) await nameImage(engine, pulled.id, reference)
  return pulled
}

/** The image id is the manifest digest on an engine with containerd's image store, and the configuration digest on others. */
export function isWanted(
  { id, repoDigests }: Pick<HeldImage, 'id' | 'repoDigests'>,
  { digest, manifestDigest }: Pick<Wanted, 'digest' | 'manifestDigest'>,
): boolean {
  if (digest === '' || id === digest) return true
  return manifestDigest !== undefined && repoDigests.some(name => name.endsWith(`@${manifestDigest}`))
}

/** `cr.example.org:5000/lab/python:3` → `cr.example.org:5000/lab/python`. */
export function repositoryOf(reference: string): string {
  return reference.replace(/@sha256:[0-9a-f]+$/, '').replace(/:[^/:]+$/, '')
}

/**
 * Gives a name to an image of the engine. Digests are no names.
 *
 * @param image id or name that it has already
 * @throws `image_not_found`, `engine_unreachable`
 */
export async function nameImage(engine: EngineClient, image: string, reference: string): Promise<void> {
  if (reference.includes('@')) return
  const repo = repositoryOf(reference)
  const tag = reference.slice(repo.length + 1) || 'latest'
  try {
    await engine.calls.getImage(image).tag({ repo, tag })
  } catch (error) {
    throw fromEngine(error, 'image_not_found')
  }
}
