import { type FastifyInstance } from 'fastify'
import { z } from 'zod'
import { AppError, createStreamPlaces, FolderId, MOST_SHOWN_DIRECTORIES, SessionId } from '#manager/contract'
import { type EventBus, hintFrame } from '../../events/bus.ts'
import { type FileWatches } from '../../files/watches.ts'
import { onBehalfOf } from '../../store/on-behalf.ts'
import { type Db } from '../../store/schema.ts'
import { type Caller, isSuperadmin, requireScope } from '../../users/authorize.ts'
import { type Logins } from '../../users/logins.ts'
import { type Signers } from '../../users/signers.ts'
import { findChangedCallers } from '../../users/still-authorized.ts'
import { type Credentials } from '../credentials.ts'
import { securityOf } from './contract-routes.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import { strictQuery } from '../strict-query.ts'

const PING_MS = 15_000
/**
 * A client this far behind does not read. It is disconnected, and continues from its last event id when it reconnects. The limit is well
 * above the size of the whole ring, which a resumed stream may get at once.
 */
const BEHIND_BYTES = 1024 * 1024
const WATCHED_SESSIONS = 200

const Query = z.object({
  watch: z
    .string()
    .max(WATCHED_SESSIONS * 37)
    .optional()
    .describe('Comma-separated session ids whose live figures (`stats`) are wanted.')
    .transform(text => (text ? text.split(',') : []))
    .refine(ids => ids.every(id => SessionId.safeParse(id).success), 'must be a list of session ids'),
  directory: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe(
      `Folder id, "/" and a directory of the folder that is shown, at most ${MOST_SHOWN_DIRECTORIES} times: hints \`files\` then also tell of changes by sessions.`,
    )
    .transform(given => (given === undefined ? [] : [given].flat()))
    .pipe(z.array(z.string().max(5_000).transform(toDirectory)).max(MOST_SHOWN_DIRECTORIES)),
  lastEventId: z
    .string()
    .max(64)
    .optional()
    .describe('The same as the header Last-Event-ID, for the first connection.'),
})

function toDirectory(text: string, context: z.RefinementCtx): { folderId: FolderId; path: string } {
  const folderId = FolderId.safeParse(text.slice(0, text.indexOf('/')))
  if (folderId.success) return { folderId: folderId.data, path: text.slice(text.indexOf('/') + 1) }
  context.addIssue({ code: 'custom', message: 'must be a folder id, "/" and a path' })
  return z.NEVER
}

export interface EventRouteDeps {
  readonly bus: EventBus
  readonly fileWatches: Pick<FileWatches, 'watch'>
  readonly logins: Pick<Logins, 'onEnd' | 'onChange' | 'recheck'>
  readonly signers: Pick<Signers, 'onEnd' | 'watch'>
  /** Finds callers that have changed since their stream was opened. */
  readonly db: Db
  readonly pingMs?: number
}

interface Stream {
  readonly caller: Caller
  readonly write: (frame: string) => void
  readonly end: () => void
}

/**
 * `GET /api/v1/events`: server-sent events. A stream ends with its sign-in or keypair, and with the server; one timer serves all.
 *
 * The role and domain at opening decide what a stream may carry. So the stream ends when these change, or the account is deactivated: at
 * once, or with the next ping if the message of the change was lost. A client that may still have a stream opens it again.
 *
 * Threat model: a stream occupies a descriptor and memory here, and a person may sign in any number of times. So the streams of one person
 * are counted over all sign-ins and keypairs, and where there are too many, the sign-in with most makes room for one with few.
 */
export function registerEventRoute(
  app: FastifyInstance,
  { bus, fileWatches, logins, signers, db, pingMs = PING_MS }: EventRouteDeps,
): void {
  const streams = new Map<string, Set<Stream>>()
  const places = createStreamPlaces()
  /** Ends all streams of a sign-in or keypair. */
  const endStreams = (credential: string) => {
    for (const stream of streams.get(credential) ?? []) stream.end()
  }
  // If the database does not answer, no stream ends now; the next ping checks again.
  const checkAgain = () => void endOutdated().catch(() => undefined)
  const unsubscribe = [logins.onEnd(endStreams), signers.onEnd(endStreams), logins.onChange(checkAgain)]
  const timer = setInterval(() => {
    const frame = bus.pingFrame()
    for (const set of streams.values()) for (const stream of set) stream.write(frame)
    checkAgain()
  }, pingMs)
  timer.unref()

  /** @param which streams to check; all if left out */
  async function endOutdated(which: readonly Stream[] = [...streams.values()].flatMap(set => [...set])): Promise<void> {
    await logins.recheck([...new Set(which.flatMap(({ caller }) => caller.loginId ?? []))])
    const outdated = new Set(
      await findChangedCallers(
        db,
        which.map(({ caller }) => caller),
      ),
    )
    for (const stream of which) if (outdated.has(stream.caller)) stream.end()
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
    config: { access: 'user', scope: 'read' },
    schema: {
      operationId: 'events',
      summary: 'Event stream (SSE): hints, resync, stats of watched sessions, ping.',
      tags: ['events'],
      security: securityOf({ access: 'user' }),
      querystring: strictQuery(Query),
      produces: ['text/event-stream'],
    },
    handler(request, reply) {
      const credentials = signedIn(request.credentials)
      const { caller, endsWith } = credentials
      // Changes of a directory tell of its files.
      if (request.query.directory.length > 0) requireScope(caller, 'files')
      const { raw } = reply
      const own = streams.get(endsWith) ?? new Set<Stream>()
      const leavePlace = places.take(endsWith, caller.userId, () => {
        leave()
        raw.destroy()
      })
      reply.hijack()
      // If the client left meanwhile, no `close` event follows: its stream would stay for ever.
      if (raw.destroyed) {
        leavePlace()
        return
      }
      raw.writeHead(200, {
        ...SECURITY_HEADERS,
        'content-type': 'text/event-stream; charset=utf-8',
        'x-request-id': request.id,
        'x-accel-buffering': 'no', // nginx would buffer events
      })
      request.raw.socket.setNoDelay(true)
      raw.write('retry: 1000\n\n')
      const write = (frame: string) => {
        if (raw.writableLength > BEHIND_BYTES) raw.destroy()
        else raw.write(frame)
      }
      // Unsubscribe first: the same change that ends the stream may be published in the same turn.
      const end = () => {
        leave()
        raw.end()
      }
      const stream: Stream = { caller, write, end }
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
      const stopFiles = fileWatches.watch(caller, request.query.directory, hint => write(hintFrame(hint)))
      own.add(stream)
      streams.set(endsWith, own)
      signers.watch(endsWith)
      // Check again: this stream was not told of a change that came after the check of its credentials.
      void onBehalfOf(caller.userId, () => endOutdated([stream])).catch(() => undefined)
      const leave = () => {
        leavePlace()
        stop()
        stopFiles()
        own.delete(stream)
        if (own.size === 0 && streams.get(endsWith) === own) streams.delete(endsWith)
      }
      raw.once('close', leave)
    },
  })
}

function signedIn(credentials: Credentials | null): Credentials {
  if (!credentials) throw new AppError('not_signed_in')
  return credentials
}
