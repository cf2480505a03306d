import { randomBytes } from 'node:crypto'
import { type EventHint, type SessionStats, type UserId } from '#manager/contract'
import { NO_PEERS, type Peers } from '../cluster/peers.ts'

/** Recipients of an event: a user, the admins of a domain, or both. Superadmins get every event, except those for `only` another user. */
export type Audience =
  | { readonly userId?: UserId; readonly domain?: string }
  | { readonly only: UserId }
  | 'everyone'
  | 'superadmins'

/** Recipients including the members with whom a session is shared. */
type Receivers = Audience | { readonly userId?: UserId; readonly domain?: string; readonly members: readonly UserId[] }

/** Publishes changes; services call it after the transaction, never inside. */
export interface EventPublisher {
  publish(hint: EventHint, audience: Audience): void
  /** Publishes live figures, which reach only streams that watch this session and are never stored. */
  publishStats(sessionId: string, owned: { ownerId: UserId; domain: string }, stats: SessionStats): void
}

/** An event stream of one browser. `send` gets whole SSE frames and must not block. */
export interface Subscriber {
  readonly userId: UserId
  readonly superadmin: boolean
  /** The domain that the user is admin of. */
  readonly adminOf?: string | undefined
  /** Sessions whose live figures are requested. Naming a session grants nothing: only streams of people who may see it get figures. */
  readonly watch: ReadonlySet<string>
  /** @param kind `stats` may be dropped when the stream is behind; a `hint` must not */
  send(frame: string, kind: 'hint' | 'stats'): void
}

export interface EventBus extends EventPublisher {
  /**
   * Sends the events missed since `lastEventId`, or `resync` if they are no longer kept, then everything new. Returns
   * the unsubscribe function.
   */
  subscribe(subscriber: Subscriber, lastEventId: string | undefined): () => void
  /** Frame that keeps a stream alive and its last event id up to date. */
  pingFrame(): string
  /** Number of open streams. */
  count(): number
}

interface Kept {
  readonly sequence: number
  readonly audience: Receivers
  readonly frame: string
}

const RING_SIZE = 2_000

interface Told {
  readonly hint: EventHint
  readonly audience: Audience
}

/**
 * Delivers hints in the order of publication, numbered within an epoch (one run of this process). The most recent hints
 * are kept in a ring, so that an interrupted stream continues where it was. A frame is built once for all streams.
 *
 * Hints of other managers are published here as well; if some may have been missed, every stream is told to `resync`.
 * Live figures are not exchanged: each manager gets them from the agents itself.
 *
 * @param membersOf users with whom a session is shared
 */
export function createEventBus(
  peers: Peers = NO_PEERS,
  epoch = randomBytes(6).toString('hex'),
  membersOf: (sessionId: string) => readonly UserId[] = () => [],
): EventBus {
  const others = peers.topic<Told>('hint')
  const ring: Kept[] = []
  const byUser = new Map<UserId, Set<Subscriber>>()
  const superadmins = new Set<Subscriber>()
  /** Streams of domain admins, by domain. */
  const admins = new Map<string, Set<Subscriber>>()
  const watchers = new Map<string, Set<Subscriber>>()
  let sequence = 0

  /** Parses `${epoch}.${sequence}`; undefined unless the ring holds all later events. */
  function parsePosition(text: string): number | undefined {
    const [inEpoch, digits = ''] = text.split('.')
    const position = /^\d{1,15}$/.test(digits) ? Number(digits) : -1
    const oldest = sequence - ring.length
    return inEpoch === epoch && position >= oldest && position <= sequence ? position : undefined
  }

  function* receivers(audience: Receivers): Iterable<Subscriber> {
    if (audience === 'superadmins') return yield* superadmins
    if (audience === 'everyone') {
      for (const streams of byUser.values()) yield* streams
      return
    }
    if ('only' in audience) return yield* byUser.get(audience.only) ?? []
    const users = usersOf(audience)
    for (const userId of users) yield* byUser.get(userId) ?? []
    for (const stream of superadmins) if (!users.has(stream.userId)) yield stream
    if (audience.domain === undefined) return
    for (const stream of admins.get(audience.domain) ?? []) if (!users.has(stream.userId)) yield stream
  }

  function deliver(hint: EventHint, audience: Audience): void {
    sequence++
    const frame = frameOf('hint', hint, `${epoch}.${sequence}`)
    const members = hint.topic === 'session' ? membersOf(hint.id) : []
    const isAsked = members.length > 0 && typeof audience === 'object' && !('only' in audience)
    const all = isAsked ? { ...audience, members } : audience
    ring.push({ sequence, audience: all, frame })
    if (ring.length > RING_SIZE) ring.shift()
    for (const stream of receivers(all)) stream.send(frame, 'hint')
  }

  others.on(({ hint, audience }) => deliver(hint, audience))
  peers.onGap(() => {
    sequence++
    ring.length = 0
    const frame = frameOf('resync', {}, `${epoch}.${sequence}`)
    for (const stream of receivers('everyone')) stream.send(frame, 'hint')
  })

  const pingFrame = () => frameOf('ping', {}, `${epoch}.${sequence}`)

  return {
    publish(hint, audience) {
      deliver(hint, audience)
      others.tell({ hint, audience })
    },

    publishStats(sessionId, { ownerId, domain }, stats) {
      const streams = watchers.get(sessionId)
      if (!streams) return
      const frame = frameOf('stats', { sessionId, stats })
      for (const stream of streams) {
        const audience = { userId: ownerId, domain, members: membersOf(sessionId) }
        if (concerns(audience, stream)) stream.send(frame, 'stats')
      }
    },

    subscribe(stream, lastEventId) {
      const position = lastEventId === undefined ? sequence : parsePosition(lastEventId)
      if (position === undefined) stream.send(frameOf('resync', {}, `${epoch}.${sequence}`), 'hint')
      else {
        const missed = ring.slice(ring.length - (sequence - position))
        for (const kept of missed) if (concerns(kept.audience, stream)) stream.send(kept.frame, 'hint')
      }
      stream.send(pingFrame(), 'hint')
      add(byUser, stream.userId, stream)
      if (stream.superadmin) superadmins.add(stream)
      if (stream.adminOf !== undefined) add(admins, stream.adminOf, stream)
      for (const sessionId of stream.watch) add(watchers, sessionId, stream)
      return () => {
        remove(byUser, stream.userId, stream)
        superadmins.delete(stream)
        if (stream.adminOf !== undefined) remove(admins, stream.adminOf, stream)
        for (const sessionId of stream.watch) remove(watchers, sessionId, stream)
      }
    },

    pingFrame,
    count: () => [...byUser.values()].reduce((sum, streams) => sum + streams.size, 0),
  }
}

function concerns(audience: Receivers, stream: Subscriber): boolean {
  if (typeof audience === 'object' && 'only' in audience) return audience.only === stream.userId
  if (audience === 'everyone' || stream.superadmin) return true
  if (audience === 'superadmins') return false
  return usersOf(audience).has(stream.userId) || (stream.adminOf !== undefined && audience.domain === stream.adminOf)
}

function usersOf(audience: Exclude<Receivers, string | { readonly only: UserId }>): ReadonlySet<UserId> {
  const own = audience.userId === undefined ? [] : [audience.userId]
  return new Set('members' in audience ? [...own, ...audience.members] : own)
}

/** Frame of a hint for some streams only. It has no id: a stream that resumes does not get it again. */
export const hintFrame = (hint: EventHint): string => frameOf('hint', hint)

/** @see WHATWG HTML 9.2.6; JSON holds no line breaks */
function frameOf(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

function add<K>(map: Map<K, Set<Subscriber>>, key: K, stream: Subscriber): void {
  const set = map.get(key)
  if (set) set.add(stream)
  else map.set(key, new Set([stream]))
}

function remove<K>(map: Map<K, Set<Subscriber>>, key: K, stream: Subscriber): void {
  const set = map.get(key)
  set?.delete(stream)
  if (set?.size === 0) map.delete(key)
}
