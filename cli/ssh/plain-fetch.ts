import type { IncomingMessage } from 'node:http'
import type { ClientDeps, HttpReply } from '#manager/contract/light'
import { environmentNetwork, textUpTo } from '#proxy/connect-app'
import { explainFailure, isUntrusted, trustSystemCertificates } from '#proxy/certificates'

/**
 * `fetch` for one request of a program that is started for every connection of ssh: loading Node's own takes longer than the
 * request. The authorities of the operating system are read only if Node's own list does not do, for the same reason.
 *
 * @throws AppError `unavailable` with the reason
 */
export const plainFetch: ClientDeps['fetch'] = async (url, init) => {
  try {
    return await send(url, init)
  } catch (error) {
    if (isUntrusted(error) && trustSystemCertificates(url)) return await plainFetch(url, init)
    return explainFailure(url, error)
  }
}

async function send(
  url: string,
  { method, headers, body, signal }: Parameters<ClientDeps['fetch']>[1],
): Promise<HttpReply> {
  const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const agent = (await (await environmentNetwork())?.agentFor(new URL(url))) ?? false
  request(url, { method, headers, agent, signal: signal as AbortSignal })
    .once('response', resolve)
    .once('error', reject)
    .end(body)
  const reply = await promise
  const received = await textUpTo(reply)
  return {
    status: reply.statusCode ?? 0,
    headers: { get: name => [reply.headers[name]].flat().join(', ') || null },
    text: () => Promise.resolve(received),
  }
}
