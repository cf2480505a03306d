import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { createOpenCounts } from '#base/open-counts'
import { AppError, because } from '#manager/contract'
import { onBehalfOf } from '../../store/on-behalf.ts'
import { type Credentials } from '../credentials.ts'
import { clientAddress } from '../origin.ts'
import { senderOf } from '../sender.ts'

/** Calls that are answered at a time: each may wait for most of a minute. A person may have a hundred tokens. */
const MOST_AT_ONCE = { ofToken: 16, ofPerson: 64 }

const RETRY_AFTER_SECONDS = 2

/** Tools and documents never change while a client looks on, and a stream of changes would last. */
const NO_SUBSCRIPTIONS = { maxSubscriptions: 0 }

/** Loaded with the first request: most managers never get one. */
const load = () => Promise.all([import('@modelcontextprotocol/server'), import('../../mcp/index.ts')])

/**
 * The Model Context Protocol by HTTP (Streamable HTTP), at `/mcp`, for access tokens only (ADR 98).
 *
 * Threat model: that of `server.ts`: Host and Origin are checked and the token is read before this runs, at each request, and there are no
 * sessions of the protocol, whose ids could be stolen: a token that has ended is refused at the next request. Sign-ins and keypairs are
 * refused, which could do more than the tools. A tool calls the API in this process, as its client would over the network: with the same
 * token, address, checks, limits and entries in the audit log. A call that is refused before that has an entry of its own.
 *
 * @param version of Berth
 */
export function registerMcpRoute(app: FastifyInstance, version: string): void {
  const running = createOpenCounts()
  const config = { access: 'user', scope: 'read' } as const
  const schema = { hide: true }
  const handler = (request: FastifyRequest, reply: FastifyReply) =>
    onBehalfOf(senderOf(request), () => answer(request, reply))
  // `GET` and `DELETE` belong to sessions of the protocol: they are answered with 405, as it asks.
  app.route({ method: ['GET', 'POST', 'DELETE'], url: '/mcp', config, schema, handler })

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { credentials } = request
    const token = tokenOf(credentials)
    // Clients may send a hundred messages as one list, whose answers would be in memory together.
    if (Array.isArray(request.body)) throw new AppError('bad_request', { why: 'Send one message with each request.' })
    using _turn = takeTurn(token)
    const aborted = new AbortController()
    reply.raw.once('close', () => aborted.abort())
    const [{ createMcpHandler }, { createMcpServer, refusalOf }] = await load()
    const made = { calls: 0 }
    const calls = callsOf(app, request)
    const fetch: typeof calls = (...call) => {
      made.calls++
      return calls(...call)
    }
    const reach = { baseUrl: '', fetch, credentials: () => Promise.resolve({}) }
    const protocol = createMcpHandler(() => createMcpServer({ reach, scopes: token.scopes, version }), NO_SUBSCRIPTIONS)
    await using _ = { [Symbol.asyncDispose]: () => protocol.close() }
    const answered = await protocol.fetch(webRequest(request, aborted.signal), { parsedBody: request.body })
    const text = await answered.text()
    // The API records its own refusals.
    const refusal = made.calls > 0 || aborted.signal.aborted ? undefined : refusalOf(request.body, token.scopes)
    if (refusal) request.outcome = { ...request.outcome, ...refusal }
    void reply.code(answered.status)
    const type = answered.headers.get('content-type')
    if (type) void reply.header('content-type', type)
    const allow = answered.headers.get('allow')
    if (allow) void reply.header('allow', allow)
    return await reply.serializer((body: string) => body).send(text)
  }

  /** @throws AppError `rate_limited` */
  function takeTurn({ id, userId }: { readonly id: string; readonly userId: string }): Disposable {
    const leavePerson = running.take(userId, MOST_AT_ONCE.ofPerson)
    if (!leavePerson) throw tooMany(because('calls_of_person', { limit: MOST_AT_ONCE.ofPerson }))
    const leaveToken = running.take(id, MOST_AT_ONCE.ofToken)
    if (!leaveToken) {
      leavePerson()
      throw tooMany(because('calls_waiting'))
    }
    return {
      [Symbol.dispose]() {
        leaveToken()
        leavePerson()
      },
    }
  }
}

/** @throws AppError `forbidden` for other credentials */
function tokenOf(credentials: Credentials | null) {
  const caller = credentials?.caller
  if (!caller?.scopes || caller.loginId === null) throw new AppError('forbidden', because('only_by_token'))
  return { id: caller.loginId, userId: caller.userId, scopes: caller.scopes }
}

const tooMany = (why: ReturnType<typeof because>) =>
  new AppError('rate_limited', { ...why, whySaysNext: true, retryAfterSeconds: RETRY_AFTER_SECONDS })

/** The request without its body, which was read already and is passed as `parsedBody`. */
function webRequest({ method, headers }: FastifyRequest, signal: AbortSignal): Request {
  const fields = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // The body was read, and the token is nothing that a tool should see.
    if (typeof value === 'string' && !['content-length', 'transfer-encoding', 'authorization', 'cookie'].includes(name))
      fields.set(name, value)
  }
  return new Request('http://manager/mcp', { method, headers: fields, signal })
}

/** Calls of the API in this process, as the client of this request. */
function callsOf(app: FastifyInstance, { raw, headers }: FastifyRequest) {
  const { authorization = '', host = '' } = headers
  const remoteAddress = clientAddress(raw)
  return async (url: string, { method = 'GET', headers: more, body, signal }: RequestInit): Promise<Response> => {
    signal?.throwIfAborted()
    const reply = await app.inject({
      method: method as 'GET',
      url,
      remoteAddress,
      headers: { ...(more as Record<string, string>), authorization, host },
      ...(typeof body === 'string' ? { payload: body } : {}),
      ...(signal ? { signal } : {}),
    })
    const fields = Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)])
    const isEmpty = [204, 304].includes(reply.statusCode)
    return new Response(isEmpty ? null : new Uint8Array(reply.rawPayload), {
      status: reply.statusCode,
      headers: fields,
    })
  }
}
