import { createHmac } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import {
  AppError,
  BODY_HASH_HEADER,
  EMPTY_BODY_HASH,
  SIGNATURE_SCHEME,
  SIGNED_DATE_HEADER,
  stringToSign,
} from '#manager/contract'
import { isLoopback, originOf } from '../origin.ts'

/** Claim of a signed request; `users/signers.ts` decides whether it is true. */
export interface SignatureClaim {
  readonly accessKey: string
  /** 64 hex digits. */
  readonly signature: string
  readonly date: Date
  /** Single-use value: the nonce, or in the original's scheme, which has no nonce, the signature itself. */
  readonly nonce: string
  /** SHA-256 that the body must have, hex. */
  readonly bodyHash: string
  /** The signature that the keypair with this secret would make, hex. */
  expected(secretKey: string): string
}

/** `stream` is an upgrade below /stream; `other` anything else that is not below /api/v1. */
export type SignedArea = 'api' | 'stream' | 'other'

/** Whether this Authorization header is a signature of any scheme. */
export function isSignature(authorization: string): boolean {
  return /^(Berth-HMAC-SHA256|BackendAI) /i.test(authorization)
}

/** @throws AppError `signature_invalid` if the header has not the form of a signature, or its scheme is not accepted for this request */
export function readSignature(request: IncomingMessage, area: SignedArea): SignatureClaim {
  return /^Berth-/i.test(request.headers.authorization ?? '') ? readOwn(request) : readOriginal(request, area)
}

const OWN = new RegExp(
  `^${SIGNATURE_SCHEME} Credential=(?<accessKey>[\\w-]{1,64}), ?Nonce=(?<nonce>[\\w-]{16,64}), ?Signature=(?<signature>[0-9a-f]{64})$`,
  'i',
)
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

function readOwn(request: IncomingMessage): SignatureClaim {
  const { accessKey = '', nonce = '', signature = '' } = OWN.exec(request.headers.authorization ?? '')?.groups ?? {}
  if (accessKey === '') throw malformed(`${SIGNATURE_SCHEME} Credential=…, Nonce=…, Signature=… is expected.`)
  const date = single(request, SIGNED_DATE_HEADER) ?? ''
  if (!ISO_UTC.test(date)) throw malformed(`${SIGNED_DATE_HEADER} must be like 2026-01-31T12:00:00Z.`)
  const bodyHash = single(request, BODY_HASH_HEADER) ?? ''
  if (!/^[0-9a-f]{64}$/.test(bodyHash)) throw malformed(`${BODY_HASH_HEADER} must be 64 lower-case hex digits.`)
  if (isBodyless(request) && bodyHash !== EMPTY_BODY_HASH)
    throw malformed('The request has no body, but carries the hash of one.')
  const { method = '', url: target = '' } = request
  const text = stringToSign({ method, target, host: originOf(request).host, date, nonce, bodyHash })
  return {
    accessKey,
    signature: signature.toLowerCase(),
    date: new Date(date),
    nonce,
    bodyHash,
    expected: secretKey => createHmac('sha256', secretKey).update(text).digest('hex'),
  }
}

const ORIGINAL = /^BackendAI signMethod=HMAC-SHA256, ?credential=(?<accessKey>[\w-]{1,64}):(?<signature>[0-9a-f]{64})$/i

/**
 * The scheme of the original system, for scripts that were written for it. It signs neither body nor nonce: an eavesdropper could send
 * another body. So it is accepted only for requests that have no body and change nothing (GET of the API, tunnels), only over protected
 * connections (TLS, or this computer), and each signature only once, so that a captured request cannot be replayed.
 */
function readOriginal(request: IncomingMessage, area: SignedArea): SignatureClaim {
  const claim = readOriginalClaim(request)
  if (request.method !== 'GET' || area === 'other' || !isBodyless(request)) {
    throw malformed('This scheme works for GET requests and tunnels only; sign other requests with Berth-HMAC-SHA256.')
  }
  const { https, address } = originOf(request)
  if (!https && !isLoopback(address)) {
    throw malformed('This scheme needs https, except from the same computer.')
  }
  return claim
}

/**
 * The claim of the original's scheme for any method. Only the adapter for clients of Backend.AI (`compat/`) accepts it as it is: it checks
 * the connection by itself.
 *
 * @throws AppError `signature_invalid` for another form
 */
export function readOriginalClaim(request: IncomingMessage): SignatureClaim {
  const { accessKey = '', signature = '' } = ORIGINAL.exec(request.headers.authorization ?? '')?.groups ?? {}
  if (accessKey === '') throw malformed('BackendAI signMethod=HMAC-SHA256, credential=<access key>:<hex> is expected.')
  const { host } = originOf(request)
  const raw = single(request, 'date') ?? single(request, 'x-backendai-date') ?? ''
  const date = parseDate(raw)
  if (!date) throw malformed('Date or X-BackendAI-Date must hold a date.')
  const version = single(request, 'x-backendai-version')
  if (version === undefined) throw malformed('X-BackendAI-Version is missing.')
  const type = single(request, 'content-type')?.split(';')[0]?.trim() ?? 'application/octet-stream'
  const text = [
    request.method ?? 'GET',
    request.url ?? '/',
    raw,
    `host:${host}`,
    `content-type:${type}`,
    `x-backendai-version:${version}`,
    EMPTY_BODY_HASH,
  ].join('\n')
  const day = date.toISOString().slice(0, 10).replaceAll('-', '')
  return {
    accessKey,
    signature: signature.toLowerCase(),
    date,
    // The scheme has no nonce: the signature itself is single-use.
    nonce: signature.toLowerCase(),
    bodyHash: EMPTY_BODY_HASH,
    expected(secretKey) {
      const ofDay = createHmac('sha256', secretKey).update(day).digest()
      const ofHost = createHmac('sha256', ofDay).update(host).digest()
      return createHmac('sha256', ofHost).update(text).digest('hex')
    },
  }
}

/** ISO 8601 or RFC 9110; one without a zone is UTC. */
function parseDate(text: string): Date | undefined {
  const naive = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?$/.test(text)
  const date = new Date(naive ? `${text}Z` : text)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Decided by the headers: a request without either header has no body. RFC 9112 section 6.3 */
function isBodyless({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
}

function single(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

function malformed(why: string): AppError {
  return new AppError('signature_invalid', { why })
}
