import { type IncomingMessage, type RequestOptions } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Statuses whose answer has no body. */
const BODILESS = new Set([101, 204, 205, 304])

/**
 * `fetch` on the connections of an agent. Node's own takes no agent. Bodies are streamed both ways; redirects are not followed, and
 * nothing is decompressed, because nothing compressed is asked for.
 */
export async function fetchBy(
  agent: RequestOptions['agent'],
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit = {},
): Promise<Response> {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const fields = Object.fromEntries(new Headers(headers))
  const sent = request(url, { agent, method, headers: fields, ...(signal ? { signal } : {}) })
  sent.once('response', resolve).once('error', reject)
  // Node's request fails only once it has its connection, and that may wait for the user's sign-in to a proxy.
  signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  if (typeof body === 'string' || body instanceof Uint8Array) sent.end(body)
  else if (body instanceof ReadableStream) pipeline(Readable.fromWeb(body), sent).catch(reject)
  else if (body) throw new TypeError('a body of this kind is not sent by a proxy')
  else sent.end()
  const reply = await promise
  // Node's request forgets its signal with the head of the answer.
  signal?.addEventListener('abort', () => reply.destroy(signal.reason as Error), { once: true })
  const status = reply.statusCode ?? 502
  const hasBody = !BODILESS.has(status) && method !== 'HEAD'
  if (!hasBody) reply.resume()
  const pairs = reply.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? [[name, all[at + 1] ?? ''] as const] : []))
  return new Response(hasBody ? (Readable.toWeb(reply) as ReadableStream) : null, {
    status,
    statusText: reply.statusMessage ?? '',
    headers: pairs.map(([name, value]) => [name, value]),
  })
}
