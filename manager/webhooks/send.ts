import { WEBHOOK_ANSWER_BYTES, type WebhookFault } from '#manager/contract'
import { createGuardedFetch, type GuardedFetchOptions, RefusedAddress } from '../outgoing/guarded-fetch.ts'
import { isOwnAddress, isPrivateAddress } from '../outgoing/private-addresses.ts'
import { type Attempt } from '../store/operation/webhook-deliveries.ts'
import { type SignedMessage, signatureOf } from './sign.ts'

export interface Message extends SignedMessage {
  readonly url: string
  readonly secrets: readonly string[]
}

/** Exceptions by superadmins from https to public addresses. */
export interface Allowed {
  /** Host names and addresses in lower case, as in URLs. */
  readonly hosts: ReadonlySet<string>
  readonly http: boolean
}

export interface Sent extends Attempt {
  /** Value of `Retry-After`. */
  readonly retryAfter: string | null
}

/** Time for the whole request. */
const GIVE_UP_MS = 10_000
/** Time for the beginning of the body once the status is there: the status alone decides. */
const ANSWER_MS = 2_000

/**
 * Sends one message to the address of a webhook.
 *
 * Threat model: administrators of a domain choose the address and read the beginning of the answer, so this must not reach what only this
 * machine can reach: private addresses, and its own. The connection goes to exactly the addresses that were judged: a name with one such
 * address is refused unless a superadmin allows the name, and those where clouds hand out credentials are refused always. Redirects are not
 * followed. Bytes and time of an answer are limited; a receiver cannot hold more than one connection.
 */
export type SendMessage = (message: Message, allowed: Allowed, signal: AbortSignal) => Promise<Sent>

export interface SendOptions extends Pick<GuardedFetchOptions, 'find'> {
  readonly giveUpMs?: number | undefined
  readonly answerMs?: number | undefined
  readonly isOwn?: typeof isOwnAddress
}

/** @param options only tests pass them */
export function createSendMessage({
  find,
  giveUpMs = GIVE_UP_MS,
  answerMs = ANSWER_MS,
  isOwn = isOwnAddress,
}: SendOptions = {}): SendMessage {
  // Replaced before every message; names are judged when they are looked up.
  let hosts: ReadonlySet<string> = new Set()
  const isAllowed = (host: string) => hosts.has(host.toLowerCase()) || PROXIES.has(host.toLowerCase())
  const fetch = createGuardedFetch({
    ...(find ? { find } : {}),
    keepAlive: false,
    refuses: (host, address) => !isAllowed(host) && (isPrivateAddress(address) || isOwn(address)),
  })

  return async (message, allowed, signal) => {
    hosts = allowed.hosts
    const url = new URL(message.url)
    const since = performance.now()
    const failed = (fault: WebhookFault): Sent => ({
      fault,
      responseStatus: null,
      durationMs: Math.round(performance.now() - since),
      answer: null,
      retryAfter: null,
    })
    if (url.protocol === 'http:' && !allowed.http) return failed('not_encrypted')
    if (PROXIES.has(url.hostname) && !allowed.hosts.has(url.hostname)) return failed('address_refused')
    try {
      const reply = await fetch(url, {
        method: 'POST',
        body: message.body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': message.id,
          'webhook-timestamp': String(message.timestamp),
          'webhook-signature': signatureOf(message, message.secrets),
        },
        signal: AbortSignal.any([signal, AbortSignal.timeout(giveUpMs)]),
      })
      const answer = await readBeginning(reply, answerMs)
      return {
        fault: faultOf(reply.status),
        responseStatus: reply.status,
        durationMs: Math.round(performance.now() - since),
        answer,
        retryAfter: reply.headers.get('retry-after'),
      }
    } catch (error) {
      // The manager ends: the attempt does not count.
      signal.throwIfAborted()
      return failed(faultOfError(error))
    }
  }
}

/** Hosts of the proxies through which this process sends, which may be private. */
const PROXIES: ReadonlySet<string> = new Set(
  process.env['NODE_USE_ENV_PROXY'] === '1'
    ? ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].flatMap(name => {
        const address = process.env[name]
        return address !== undefined && URL.canParse(address) ? [new URL(address).hostname.toLowerCase()] : []
      })
    : [],
)

function faultOf(status: number): WebhookFault | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}

const CERTIFICATE = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|HOSTNAME_MISMATCH|ERR_SSL_|EPROTO)/

function faultOfError(error: unknown): WebhookFault {
  if (error instanceof RefusedAddress) return 'address_refused'
  const { name, cause } = error as { name?: unknown; cause?: { code?: unknown } }
  if (name === 'TimeoutError') return 'timeout'
  const code = typeof cause?.code === 'string' ? cause.code : ''
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'not_found'
  return CERTIFICATE.test(code) ? 'certificate' : 'no_connection'
}

/** The beginning of a body as plain text, without control characters. The rest is not read, and the connection is closed. */
async function readBeginning(reply: Response, answerMs: number): Promise<string> {
  const body: ReadableStream<Uint8Array> | null = reply.body
  const reader = body?.getReader()
  if (!reader) return ''
  const parts: Uint8Array[] = []
  let bytes = 0
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, answerMs, undefined)
  try {
    while (bytes < WEBHOOK_ANSWER_BYTES) {
      const next = await Promise.race([reader.read(), late.promise])
      if (!next || next.done) break
      parts.push(next.value)
      bytes += next.value.byteLength
    }
  } catch {
    // A body that breaks off changes nothing: the status was read.
  } finally {
    clearTimeout(timer)
    void reader.cancel().catch(() => undefined)
  }
  const text = new TextDecoder().decode(Buffer.concat(parts).subarray(0, WEBHOOK_ANSWER_BYTES))
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '\uFFFD')
}
