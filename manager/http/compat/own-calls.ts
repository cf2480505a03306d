import { type IncomingMessage, request as sendRequest } from 'node:http'
import { type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ApiClient, AppError, createClient, fromProblem, isProblem } from '#manager/contract'
import { type Adopted, ADOPTED_MS } from '../adopted.ts'
import { type HttpServer } from '../server.ts'

/** Longest answer of the API that the adapter reads as a whole: larger than any page of a list. */
const MOST_BYTES = 64 * 2 ** 20

/** The sender for whom a call is made: known by a signature or a token, which is what the API asks about. */
export type Sender =
  | { readonly kind: 'keypair'; readonly accessKey: string }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'nobody' }

export interface OwnRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Readable | string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Calls of the API of this process, as its client would make them over the network. */
export interface OwnCalls {
  readonly api: ApiClient
  /** The answer as a stream. @throws AppError of a refusal */
  send(request: OwnRequest): Promise<IncomingMessage>
  /** A call in the name of somebody else. */
  as(sender: Sender): OwnCalls
}

export interface OwnCallsDeps {
  readonly server: Pick<HttpServer, 'connect' | 'port'>
  readonly sender: Sender
  /** Address of the client. */
  readonly address: string
  /** Milliseconds since 1970, by the clock of the database. */
  readonly now: () => number
  /** Ends calls whose client has left. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Threat model: what a client may do is decided by the API, for each call: by the rights that its keypair or token has at that moment, with
 * the same limits and entries in the audit log. Nothing here decides about rights.
 */
export function createOwnCalls(deps: OwnCallsDeps): OwnCalls {
  const { server, sender, address } = deps
  const credential = sender.kind === 'token' ? { authorization: `Bearer ${sender.token}` } : {}

  function open({ method, path, headers, body, signal = deps.signal }: OwnRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = sendRequest({
        method,
        path,
        headers: { ...headers, ...credential, host: `127.0.0.1:${server.port}`, connection: 'close' },
        createConnection: () => server.connect(address, factsOf(sender, deps.now())),
        ...(signal ? { signal } : {}),
      })
      request.once('response', resolve)
      request.once('error', reject)
      if (body === undefined || typeof body === 'string') request.end(body)
      else pipeline(body, request).catch(reject)
    })
  }

  const api = createClient({
    baseUrl: '',
    async fetch(path, { method, headers, body, signal }) {
      const answer = await open({
        method,
        path,
        headers,
        body,
        signal: (signal as AbortSignal | undefined) ?? deps.signal,
      })
      const text = await textOf(answer)
      return {
        status: answer.statusCode ?? 500,
        headers: { get: name => answer.headers[name]?.toString() ?? null },
        text: () => Promise.resolve(text),
      }
    },
  })

  return {
    api,
    async send(request) {
      const answer = await open(request)
      if ((answer.statusCode ?? 500) < 400) return answer
      throw refusalOf(await textOf(answer))
    },
    as: other => createOwnCalls({ ...deps, sender: other }),
  }
}

/** Facts that the adapter vouches for about the calls of a sender. */
export function factsOf(sender: Sender, now: number): Adopted {
  if (sender.kind !== 'keypair') return { road: 'backend.ai' }
  return { road: 'backend.ai', signed: { accessKey: sender.accessKey, expiresAt: new Date(now + ADOPTED_MS) } }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of answer as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MOST_BYTES) throw new AppError('bad_request', { why: 'The answer is too long: ask for fewer items.' })
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function refusalOf(text: string): AppError {
  try {
    const problem: unknown = JSON.parse(text)
    if (isProblem(problem)) return fromProblem(problem)
  } catch {
    // The answer to a HEAD has no document.
  }
  return new AppError('not_found')
}
