import { setTimeout as delay } from 'node:timers/promises'
import { AppError, because, DOCKER_HUB, type RegistryCheck, type RescanProgress } from '#manager/contract'
import { isLabelled } from '#agent/contract'
import { type NewRegistryImage } from '../store/images/registry-images.ts'
import { TagProblem } from './client/manifests.ts'
import { type RegistryClient } from './client/registry-client.ts'
import { referenceOf } from './registry-address.ts'

export interface RescanDeps {
  readonly registry: { readonly name: string; readonly projects: readonly string[] }
  readonly client: RegistryClient
  /** Lists the repositories of a name space of Docker Hub. */
  readonly listNamespace: (namespace: string, signal: AbortSignal) => AsyncIterable<readonly string[]>
  /** Manifest digests by reference, from the last rescan. */
  readonly known: ReadonlyMap<string, string>
  /** Called for each image during the rescan: images are stored as they are found, even if the rescan fails later. */
  readonly found: (image: NewRegistryImage) => Promise<void>
  readonly report: (progress: RescanProgress) => void
  readonly signal: AbortSignal
}

export interface RescanResult {
  readonly progress: RescanProgress
  /** Earlier images that are gone or can no longer be used; only a complete rescan can determine them. */
  readonly vanished: readonly string[]
}

const AT_ONCE = 4
const PROBLEMS_SHOWN = 100
/** Pauses before retries: enough for a registry that restarts, but no long wait for one that is gone. */
const RETRY_AFTER_MS = [200, 1_000]

/**
 * Scans a registry: its repositories, their tags, and the labels of each tag's image. A tag that cannot be read is reported
 * and left out; an unreachable registry ends the rescan.
 *
 * @throws AppError `registry_unreachable`, `registry_refused`, `registry_failed`; the reason of the signal
 */
export async function rescanRegistry(deps: RescanDeps): Promise<RescanResult> {
  const { registry, client, signal, known } = deps
  const progress: Mutable<RescanProgress> = { ...NOTHING_YET, problems: [] }
  const kept = new Set<string>()
  const tell = () => deps.report({ ...progress, problems: [...progress.problems] })
  const seen = new Set<string>()

  function note(reference: string, why: string): void {
    progress.problemsTotal++
    if (progress.problems.length < PROBLEMS_SHOWN) progress.problems.push({ reference, why })
  }

  async function readTag(repository: string, tag: string): Promise<void> {
    const reference = referenceOf(registry.name, repository, tag)
    try {
      await retrying(signal, async () => {
        const before = known.get(reference)
        const same = before !== undefined && before === (await client.manifestDigest(repository, tag, signal))
        const image = same ? undefined : await client.image(repository, tag, signal)
        if (image && !isLabelled(image.labels)) {
          progress.unlabelled++
          return
        }
        if (image) await deps.found({ registry: registry.name, reference, ...image })
        progress.images++
        kept.add(reference)
      })
    } catch (error) {
      const what = problemOf(error)
      if (!what) throw error
      note(reference, what.message)
      // A transient failure says nothing about the image that was read earlier, so keep it.
      if (what.kind === 'failed') kept.add(reference)
    }
    progress.tagsDone++
    tell()
  }

  async function readRepository(repository: string): Promise<void> {
    try {
      const tags = await retrying(signal, () => collect(client.tags(repository, signal)))
      progress.tagsTotal += tags.length
      tell()
      await forEachOf(tags, AT_ONCE, tag => readTag(repository, tag))
    } catch (error) {
      const what = problemOf(error)
      if (!what) throw error
      note(repository, what.message)
      if (what.kind === 'failed') keepAllOf(repository)
    }
    progress.repositoriesDone++
    tell()
  }

  function keepAllOf(repository: string): void {
    const prefix = referenceOf(registry.name, repository, '')
    for (const reference of known.keys()) if (reference.startsWith(prefix)) kept.add(reference)
  }

  await retrying(signal, () => client.ping(signal))
  for await (const page of repositoriesOf(deps)) {
    const repositories = page.filter(repository => !seen.has(repository))
    for (const repository of repositories) seen.add(repository)
    progress.repositoriesTotal += repositories.length
    tell()
    for (const repository of repositories) await readRepository(repository)
  }
  const vanished = [...known.keys()].filter(reference => !kept.has(reference))
  progress.removed = vanished.length
  tell()
  return { progress, vanished }
}

/** Reads the first repositories, up to the first page that has one of the name spaces, and the tags of the first. @throws as `rescanRegistry` */
export async function checkRegistry(
  deps: Pick<RescanDeps, 'registry' | 'client' | 'listNamespace' | 'signal'>,
): Promise<Pick<RegistryCheck, 'repositories' | 'repository' | 'tags'>> {
  const { client, signal } = deps
  await client.ping(signal)
  let page: readonly string[] = []
  for await (page of repositoriesOf(deps)) if (page.length > 0) break
  const [repository = null] = page
  const tags = repository === null ? [] : ((await client.tags(repository, signal).next()).value ?? [])
  return { repositories: page.length, repository, tags: tags.length }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export const NOTHING_YET: RescanProgress = {
  repositoriesDone: 0,
  repositoriesTotal: 0,
  tagsDone: 0,
  tagsTotal: 0,
  images: 0,
  unlabelled: 0,
  removed: 0,
  problemsTotal: 0,
  problems: [],
}

/** Yields the catalogue, filtered by the projects; or the projects themselves if there is no catalogue. */
async function* repositoriesOf({
  registry,
  client,
  listNamespace,
  signal,
}: Pick<RescanDeps, 'registry' | 'client' | 'listNamespace' | 'signal'>): AsyncGenerator<readonly string[], void> {
  const { name, projects } = registry
  if (name === DOCKER_HUB) {
    if (projects.length === 0) {
      throw new AppError('registry_failed', because('docker_hub_no_catalogue'))
    }
    for (const project of projects) {
      if (project.includes('/')) yield [project]
      else yield* listNamespace(project, signal)
    }
    return
  }
  for await (const page of client.repositories(signal)) {
    if (page === undefined) {
      if (projects.length > 0) yield projects
      else {
        throw new AppError('registry_failed', because('registry_no_catalogue'))
      }
    } else if (projects.length === 0) yield page
    else yield page.filter(one => projects.some(project => one === project || one.startsWith(`${project}/`)))
  }
}

/** The problem of a single tag or repository; undefined for an error that ends the rescan. */
function problemOf(error: unknown): { kind: TagProblem['kind'] | 'failed'; message: string } | undefined {
  if (error instanceof TagProblem) return error
  if (!(error instanceof AppError)) return undefined
  const { status, why } = error.detail
  const message = typeof why === 'string' ? why : error.message
  if (error.code === 'registry_refused') return { kind: 'failed', message }
  if (error.code === 'registry_failed' && status !== 429) return { kind: 'failed', message }
  return undefined
}

async function collect<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = []
  // Not `push(...page)`: a page may have more names than a call may have arguments.
  for await (const page of pages) for (const one of page) all.push(one)
  return all
}

async function retrying<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (const pauseMs of RETRY_AFTER_MS) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'registry_unreachable')) throw error
      await delay(pauseMs, undefined, { signal }).catch(() => undefined)
      signal.throwIfAborted()
    }
  }
  return await work()
}

/** Runs `work` for all items, `atOnce` at a time. The first failure ends it, after the calls in flight have ended. */
async function forEachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  // All workers share one iterator. `shift` would move all items behind it, and a registry may list very many.
  const rest = items.values()
  let failed = false
  const worker = async () => {
    for (const item of rest) {
      if (failed) return
      await work(item).catch((error: unknown) => {
        failed = true
        throw error
      })
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: atOnce }, worker))
  const rejected = outcomes.find(outcome => outcome.status === 'rejected')
  if (rejected) throw rejected.reason
}
