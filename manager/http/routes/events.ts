import { type FastifyInstance } from 'fastify'
import { z } from 'zod'
import { AppError, SessionId } from '#manager/contract'
import { type EventBus } from '../../events/bus.ts'
import { isSuperadmin } from '../../users/authorize.ts'
import { type Logins } from '../../users/logins.ts'
import { type Signers } from '../../users/signers.ts'
import { type Credentials } from '../credentials.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

const PING_MS = 15_000
/** Every so many pings the sign-in is looked up again: it may have ended at another manager, or by its time. */
const PINGS_PER_CHECK = 4
/**
 * A client so far behind does not read; it is cut off, and continues from its last event id when it comes back. Well above
 * what a resumed stream gets at once: the whole ring.
 */
const BEHIND_BYTES = 1024 * 1024
const STREAMS_PER_LOGIN = 32
const WATCHED_SESSIONS = 200

const Query = z.object({
  watch: z
    .string()
    .max(WATCHED_SESSIONS * 37)
    .optional()
    .describe('Comma-separated session ids whose live figures (`stats`) are wanted.')
    .transform(text => (text ? text.split(',') : []))
    .refine(ids => ids.every(id => SessionId.safeParse(id).success), 'must be a list of session ids'),
  lastEventId: z.string().max(64).optional().describe('As the header Last-Event-ID, for the first connection.'),
})

export interface EventRouteDeps {
  readonly bus: EventBus
  readonly logins: Pick<Logins, 'onEnd'>
  readonly signers: Pick<Signers, 'onEnd'>
  readonly pingMs?: number
}

interface Stream {
  readonly credentials: Credentials
  readonly write: (frame: string) => void
  readonly end: () => void
}

/**
 * `GET /api/v1/events`: server-sent events. A stream ends with its sign-in or keypair, and with the server; one timer serves all.
 */
export function registerEventRoute(
  app: FastifyInstance,
  { bus, logins, signers, pingMs = PING_MS }: EventRouteDeps,
): void {
  const streams = new Map<string, Set<Stream>>()
  /** By sign-in, or by keypair. */
  const endStreams = (credential: string) => {
    for (const stream of streams.get(credential) ?? []) stream.end()
  }
  const unsubscribe = [logins.onEnd(endStreams), signers.onEnd(endStreams)]
  let pings = 0
  const timer = setInterval(() => {
    const frame = bus.pingFrame()
    for (const set of streams.values()) for (const stream of set) stream.write(frame)
    if (++pings % PINGS_PER_CHECK === 0) void endExpired()
  }, pingMs)
  timer.unref()

  async function endExpired(): Promise<void> {
    for (const [credential, [stream]] of [...streams]) {
      // A database that does not answer ends nothing.
      const holds = await stream?.credentials.holds().catch(() => true)
      if (holds === false) endStreams(credential)
    }
  }

  app.addHook('preClose', async () => {
    clearInterval(timer)
    for (const stop of unsubscribe) stop()
    for (const credential of [...streams.keys()]) endStreams(credential)
    await Promise.resolve()
  })

  app.route<{ Querystring: z.output<typeof Query> }>({
    method: 'GET',
    url: '/api/v1/events',
    exposeHeadRoute: false,
    config: { access: 'user' },
    schema: {
      operationId: 'events',
      summary: 'Event stream (SSE): hints, resync, stats of watched sessions, ping.',
      tags: ['events'],
      querystring: Query,
      produces: ['text/event-stream'],
    },
    handler(request, reply) {
      const credentials = signedIn(request.credentials)
      const { caller, endsWith } = credentials
      const own = streams.get(endsWith) ?? new Set<Stream>()
      if (own.size >= STREAMS_PER_LOGIN) {
        throw new AppError('rate_limited', { why: `One sign-in has at most ${STREAMS_PER_LOGIN} event streams.` })
      }
      reply.hijack()
      const { raw } = reply
      raw.writeHead(200, {
        ...SECURITY_HEADERS,
        'content-type': 'text/event-stream; charset=utf-8',
        'x-request-id': request.id,
        'x-accel-buffering': 'no', // nginx would hold events back
      })
      request.raw.socket.setNoDelay(true)
      raw.write('retry: 1000\n\n')
      const write = (frame: string) => {
        if (raw.writableLength > BEHIND_BYTES) raw.destroy()
        else raw.write(frame)
      }
      const stream: Stream = { credentials, write, end: () => raw.end() }
      const stop = bus.subscribe(
        {
          userId: caller.userId,
          superadmin: isSuperadmin(caller),
          adminOf: caller.role === 'domain_admin' ? caller.domain : undefined,
          watch: new Set(request.query.watch),
          send: (frame, kind) => {
            if (kind === 'hint' || !raw.writableNeedDrain) write(frame)
          },
        },
        request.headers['last-event-id']?.toString() ?? request.query.lastEventId,
      )
      own.add(stream)
      streams.set(endsWith, own)
      raw.once('close', () => {
        stop()
        own.delete(stream)
        if (own.size === 0) streams.delete(endsWith)
      })
    },
  })
}

function signedIn(credentials: Credentials | null): Credentials {
  if (!credentials) throw new AppError('not_signed_in')
  return credentials
}
