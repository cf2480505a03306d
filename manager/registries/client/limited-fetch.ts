import { AppError, because } from '#manager/contract'
import { isCredentialAddress } from '../../outgoing/credential-addresses.ts'
import { guardedFetch, RefusedAddress } from '../../outgoing/guarded-fetch.ts'

export interface LimitedRequest {
  readonly method?: 'GET' | 'HEAD'
  readonly headers?: Readonly<Record<string, string>>
  /** A longer body is an error, and is not read further. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export interface LimitedReply {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
  /** Final address after redirects. */
  readonly url: URL
}

const REQUEST_TIMEOUT_MS = 30_000
const MAX_REDIRECTS = 5

/**
 * Sends a request to a registry, following redirects, with limits on time and size. The `authorization` header never reaches another
 * origin.
 *
 * Redirects are followed because registries serve blobs from other storage (S3 and the like). A request that starts with https never
 * continues over http, and addresses at which clouds provide credentials are always refused.
 *
 * @throws AppError `registry_unreachable`, `registry_failed`; the reason of the signal
 */
export async function limitedFetch(address: URL, request: LimitedRequest): Promise<LimitedReply> {
  let url = address
  for (let redirects = 0; ; redirects++) {
    const { authorization, ...others } = request.headers ?? {}
    const own = url.origin === address.origin && authorization !== undefined
    const reply = await fetchOnce(url, { ...request, headers: own ? { ...others, authorization } : others })
    const location = reply.status >= 300 && reply.status < 400 ? reply.headers.get('location') : null
    if (location === null) return { ...reply, url }
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
    const allowed =
      next !== undefined &&
      redirects < MAX_REDIRECTS &&
      (next.protocol === 'https:' || (next.protocol === 'http:' && address.protocol === 'http:')) &&
      !isCredentialAddress(next.hostname)
    if (!allowed) throw new AppError('registry_failed', because('redirect_not_followed', { host: url.host }))
    url = next
  }
}

async function fetchOnce(url: URL, { method = 'GET', headers = {}, maxBytes, signal }: LimitedRequest) {
  const late = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  try {
    const response = await guardedFetch(url, {
      method,
      headers,
      signal: AbortSignal.any([signal, late]),
    })
    const body = await readLimited(response, maxBytes)
    return { status: response.status, headers: response.headers, body }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError) throw error
    const { host } = url
    if (error instanceof RefusedAddress) {
      throw new AppError('registry_failed', because('address_not_connected', { host }), { cause: error })
    }
    const why = late.aborted
      ? because('server_not_in_time', { server: host })
      : because('server_says', { server: host, text: causeOf(error) })
    throw new AppError('registry_unreachable', why, { cause: error })
  }
}

async function readLimited(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    // Leaving the loop aborts the transfer.
    if (size > maxBytes) throw new AppError('registry_failed', because('answer_too_long', { bytes: maxBytes }))
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Message of the cause: the error itself only says `fetch failed`. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof AggregateError && cause.errors.length > 0) return causeOf(cause.errors[0])
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}
