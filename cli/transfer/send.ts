import { type ClientRequest, type IncomingMessage, request as overHttp, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import { AppError, fromProblem, isProblem } from '#manager/contract'
import { type Connection } from '../config/connect.ts'
import { explainFailure } from '#proxy/certificates'
import { environmentNetwork, textUpTo } from '#proxy/network'

/** No byte has moved for this long: the connection is lost. */
const STALLED_MS = 60_000

const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) } as const

export interface Transfer {
  readonly method: string
  /** Below the address of the manager. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /**
   * A body in chunks cannot be signed: with a keypair, give all bytes at once. The source may reuse a chunk's memory two chunks later: by
   * then the system has taken the chunk.
   */
  readonly body?: AsyncIterable<Buffer> | Buffer | undefined
  readonly signal: AbortSignal
}

/**
 * Sends a request whose body or answer is long: bytes are streamed, connections are kept for the next request, and a connection
 * on which nothing moves is given up.
 *
 * @returns the answer, with its body unread
 * @throws AppError as the server says, or `unavailable` if the connection fails; the reason of the signal
 */
export async function sendTransfer(
  { endpoint, credentials }: Pick<Connection, 'endpoint' | 'credentials'>,
  { method, path, headers = {}, body, signal }: Transfer,
): Promise<IncomingMessage> {
  const url = endpoint + path
  const signed = await credentials({ method, url, body: Buffer.isBuffer(body) ? body : undefined })
  const { protocol } = new URL(url)
  const byProxy = await (await environmentNetwork())?.agentFor(new URL(url))
  const send = protocol === 'https:' ? overHttps : overHttp
  const agent = byProxy ?? (protocol === 'https:' ? agents['https:'] : agents['http:'])
  const length = Buffer.isBuffer(body) ? { 'content-length': String(body.length) } : {}
  const request = send(url, { method, headers: { ...signed, ...length, ...headers }, agent, signal })
  request.setTimeout(STALLED_MS, () => request.destroy(new Error('nothing has moved for a minute')))
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject)
  })
  try {
    if (body === undefined || Buffer.isBuffer(body)) request.end(body)
    // The server may answer, and end, before it has read the whole body.
    else await Promise.race([sendChunks(request, body), answered])
    const reply = await answered
    if ((reply.statusCode ?? 500) < 400) return reply
    const refusal = await refusalOf(reply)
    // Nobody reads the rest of the body: stop sending it.
    if (!request.writableFinished) request.destroy()
    throw refusal
  } catch (error) {
    answered.catch(() => undefined)
    request.destroy()
    signal.throwIfAborted()
    if (error instanceof AppError) throw error
    return explainFailure(url, error)
  }
}

/** Writes chunk by chunk; while one is written, the next is made. Stops when the connection fails: the request tells the error. */
async function sendChunks(request: ClientRequest, chunks: AsyncIterable<Buffer>): Promise<void> {
  let written = Promise.resolve(true)
  for await (const chunk of chunks) {
    if (!(await written)) return
    written = new Promise(resolve => request.write(chunk, error => resolve(!error)))
  }
  if (await written) request.end()
}

async function refusalOf(reply: IncomingMessage): Promise<AppError> {
  const problem: unknown = await textUpTo(reply)
    .then(body => JSON.parse(body) as unknown)
    .catch(() => undefined)
  if (isProblem(problem)) return fromProblem(problem)
  return new AppError((reply.statusCode ?? 500) >= 500 ? 'unavailable' : 'internal', {
    why: `HTTP ${reply.statusCode ?? 0}`,
  })
}
