import { z } from 'zod'
import { defined } from '#base/defined'
import { AppError, because } from '#manager/contract'
import { createAuthorization, type Credentials, refusal } from './authorization.ts'
import { parseChallenges, parseNextLink } from './headers.ts'
import { limitedFetch, type LimitedReply } from './limited-fetch.ts'
import {
  checkDigest,
  choosePlatform,
  digestOf,
  keptLabels,
  type Manifest,
  MANIFEST_TYPES,
  readConfig,
  readManifest,
  TagProblem,
} from './manifests.ts'

export interface FoundImage {
  /** Digest of the configuration, which engines use as the image id. */
  readonly digest: string
  /** Digest of the tag's target: a manifest, or an index of several. */
  readonly manifestDigest: string
  readonly architecture: string
  /** Bytes to download. */
  readonly sizeBytes: number
  readonly labels: Readonly<Record<string, string>>
}

/**
 * Reads a registry. Every call may throw AppError `registry_unreachable`, `registry_refused`, `registry_failed`, or the reason
 * of the signal.
 *
 * @see https://github.com/opencontainers/distribution-spec
 */
export interface RegistryClient {
  /** Checks that the address is a registry that accepts the credentials. */
  ping(signal: AbortSignal): Promise<void>
  /** Lists the catalogue, a page at a time; yields undefined instead of the first page if the registry has no public catalogue. */
  repositories(signal: AbortSignal): AsyncGenerator<readonly string[] | undefined, void, undefined>
  /** @throws also TagProblem `vanished` if there is no such repository */
  tags(repository: string, signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined>
  /** Digest that a tag points to now, without reading it; undefined if the registry does not say. */
  manifestDigest(repository: string, tag: string, signal: AbortSignal): Promise<string | undefined>
  /** @throws also TagProblem */
  image(repository: string, tag: string, signal: AbortSignal): Promise<FoundImage>
}

export interface RegistryClientOptions {
  readonly url: URL
  readonly credentials?: Credentials | undefined
  /** As Go names it: amd64, arm64. */
  readonly architecture: string
}

const MAX_PAGE_BYTES = 4 * 2 ** 20
const MAX_MANIFEST_BYTES = 4 * 2 ** 20
const MAX_CONFIG_BYTES = 8 * 2 ** 20
const PAGE = 100
const MAX_PAGES = 5_000
/** Limit for all pages of a list together: more than a million names. */
const MAX_LIST_BYTES = 64 * 2 ** 20

const Names = z.array(z.string().max(255)).nullish()
const Catalogue = z.object({ repositories: Names })
const Tags = z.object({ tags: Names })
const REPOSITORY = /^[a-z0-9]+([._/-]+[a-z0-9]+)*$/
const TAG = /^\w[\w.-]{0,127}$/

export function createRegistryClient({ url: base, credentials, architecture }: RegistryClientOptions): RegistryClient {
  const authorization = createAuthorization(base, credentials)

  async function call(
    url: URL,
    options: { scope: string; maxBytes: number; accept?: string; method?: 'GET' | 'HEAD'; signal: AbortSignal },
  ): Promise<LimitedReply> {
    const { scope, maxBytes, accept = 'application/json', method, signal } = options
    const ask = (header: string | undefined) =>
      limitedFetch(url, {
        ...(method ? { method } : {}),
        headers: { accept, 'user-agent': 'berth', ...defined({ authorization: header }) },
        maxBytes,
        signal,
      })
    const first = await ask(authorization.header(scope))
    if (first.status !== 401) return checked(first)
    const challenges = parseChallenges(first.headers.get('www-authenticate') ?? '')
    const answer = await authorization.answer(challenges, scope, signal)
    if (answer === undefined) throw refusal(credentials)
    return checked(await ask(answer))
  }

  function checked(reply: LimitedReply): LimitedReply {
    const { status } = reply
    if (status === 401 || status === 403) throw refusal(credentials)
    if (status === 429) {
      throw new AppError('registry_failed', {
        status,
        ...because('registry_rate_limit'),
      })
    }
    if (status === 502 || status === 503 || status === 504) {
      throw new AppError('registry_unreachable', {
        status,
        ...because('server_not_available', { server: base.host, status }),
      })
    }
    return reply
  }

  const scopeOf = (repository: string) => `repository:${repository}:pull`

  async function* pages(first: URL, scope: string, signal: AbortSignal): AsyncGenerator<LimitedReply> {
    const seen = new Set<string>()
    let next: URL | undefined = first
    let bytes = 0
    while (next) {
      const reply: LimitedReply = await call(next, { scope, maxBytes: MAX_PAGE_BYTES, signal })
      bytes += reply.body.length
      if (bytes > MAX_LIST_BYTES) throw new AppError('registry_failed', because('registry_list_too_long'))
      yield reply
      seen.add(next.href)
      const link = parseNextLink(reply.headers.get('link'))
      next = link !== undefined && URL.canParse(link, base.href) ? new URL(link, base) : undefined
      const strange = next && (next.origin !== base.origin || seen.has(next.href) || seen.size >= MAX_PAGES)
      if (strange) throw new AppError('registry_failed', because('registry_list_circle'))
    }
  }

  async function readBlob(repository: string, digest: string, signal: AbortSignal): Promise<Buffer> {
    const url = new URL(`/v2/${repository}/blobs/${digest}`, base)
    const { status, body } = await call(url, { scope: scopeOf(repository), maxBytes: MAX_CONFIG_BYTES, signal })
    if (status !== 200)
      throw new TagProblem('broken', `The configuration of the image cannot be read (HTTP ${status}).`)
    checkDigest(body, digest, 'configuration')
    return body
  }

  async function readOne(repository: string, name: string, signal: AbortSignal): Promise<Buffer> {
    const url = new URL(`/v2/${repository}/manifests/${name}`, base)
    const options = { scope: scopeOf(repository), maxBytes: MAX_MANIFEST_BYTES, accept: MANIFEST_TYPES, signal }
    const { status, headers, body } = await call(url, options)
    if (status === 404) throw new TagProblem('vanished', 'The registry has no manifest under this name.')
    if (status !== 200) throw new TagProblem('broken', `The manifest cannot be read (HTTP ${status}).`)
    checkDigest(body, name.includes(':') ? name : (headers.get('docker-content-digest') ?? digestOf(body)), 'manifest')
    return body
  }

  return {
    async ping(signal) {
      const { status } = await call(new URL('/v2/', base), { scope: '', maxBytes: MAX_PAGE_BYTES, signal })
      if (status !== 200) throw new AppError('registry_failed', because('not_a_registry', { status }))
    },

    async *repositories(signal) {
      const first = new URL(`/v2/_catalog?n=${PAGE}`, base)
      try {
        for await (const { status, body } of pages(first, 'registry:catalog:*', signal)) {
          if (status === 404 || status === 405) return yield undefined
          const names = parse(Catalogue, status, body, 'catalogue').repositories ?? []
          yield names.filter(name => REPOSITORY.test(name))
        }
      } catch (error) {
        // Shared registries do not show their catalogue (ghcr.io; Harbor to users who are not admins).
        if (!(error instanceof AppError && error.code === 'registry_refused')) throw error
        yield undefined
      }
    },

    async *tags(repository, signal) {
      const first = new URL(`/v2/${repository}/tags/list?n=${PAGE}`, base)
      for await (const { status, body } of pages(first, scopeOf(repository), signal)) {
        if (status === 404) throw new TagProblem('vanished', 'The registry has no such repository.')
        yield (parse(Tags, status, body, 'list of tags').tags ?? []).filter(tag => TAG.test(tag))
      }
    },

    async manifestDigest(repository, tag, signal) {
      const url = new URL(`/v2/${repository}/manifests/${tag}`, base)
      const options = {
        scope: scopeOf(repository),
        maxBytes: 0,
        accept: MANIFEST_TYPES,
        method: 'HEAD',
        signal,
      } as const
      const { status, headers } = await call(url, options)
      return status === 200 ? (headers.get('docker-content-digest') ?? undefined) : undefined
    },

    async image(repository, tag, signal) {
      const body = await readOne(repository, tag, signal)
      const found = readManifest(body)
      let manifest: Manifest
      if ('manifest' in found) ({ manifest } = found)
      else {
        const inner = readManifest(await readOne(repository, choosePlatform(found.index, architecture), signal))
        if (!('manifest' in inner)) throw new TagProblem('broken', 'The index of the image points to another index.')
        manifest = inner.manifest
      }
      const { digest, size } = manifest.config
      const config = readConfig(await readBlob(repository, digest, signal))
      if (config.os !== 'linux' || config.architecture !== architecture) {
        throw new TagProblem(
          'other',
          `The image is not for linux/${architecture}, but for ${config.os}/${config.architecture}.`,
        )
      }
      return {
        digest,
        manifestDigest: digestOf(body),
        architecture: config.architecture,
        sizeBytes: manifest.layers.reduce((sum, layer) => sum + layer.size, size),
        labels: keptLabels(config.config?.Labels ?? {}),
      }
    },
  }
}

function parse<T extends z.ZodType>(schema: T, status: number, body: Buffer, what: string): z.output<T> {
  const wrong = () =>
    new AppError('registry_failed', { status, ...because('registry_answer_unreadable', { what, status }) })
  if (status !== 200) throw wrong()
  try {
    return schema.parse(JSON.parse(body.toString('utf8')))
  } catch {
    throw wrong()
  }
}
