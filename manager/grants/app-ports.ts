import { type AppsAddress, type SessionId, type UserId } from '#manager/contract'
import { type PortsKnown } from '../store/sessions/app-ports.ts'

/**
 * A port that one person gave up goes to another only after this time: the app's page may still be open in a browser, and it is of the
 * same origin as the app that comes next.
 */
export const REST_MS = 24 * 3_600_000
const MOST_PER_USER = 16

/** Ports that one person may have, by links and by own apps: everybody else needs some too. Infinite where apps have names. */
export function portsPerUser(address: AppsAddress): number {
  return address.kind === 'ports'
    ? Math.min(MOST_PER_USER, Math.ceil((address.last - address.first + 1) / 2))
    : Number.POSITIVE_INFINITY
}

/** Number of ports that a person has. */
export const countPortsOf = ({ taken }: PortsKnown, userId: UserId) =>
  [...taken.values()].filter(holder => holder === userId).length

/**
 * Chooses the port of an app: the wanted one if it is free and nobody else left it of late, else one that the person had before or that
 * had no app yet, else the one that was left first.
 *
 * Over https a browser clears what the former app left at the port, so a port that has not rested is better than none. Over http
 * nothing makes a browser forget its cache: such a port is not given out.
 *
 * Threat model: a page of somebody may still be open at a port that this person has left, and acts in the app of whoever gets the port
 * next. Somebody who took and left port after port would make all of them rest: over http nobody else had a port then, and over
 * https the next person had the port that was left first. So ports that rest count in the share of the person who left them, who
 * has these again when the share is used up. A page of an app of somebody else's session is that person's, whoever had it open; so may be
 * one of an own session that others used, or whose command an administrator chose. It acts in no other session.
 *
 * @returns null where apps are at names; `taken` if no port is free, `resting` if every free one was another person's of late
 */
export function choosePort(
  address: AppsAddress,
  known: PortsKnown,
  asked: {
    readonly userId: UserId
    readonly sessionId: SessionId
    readonly wanted: number | undefined
    readonly nowMs: number
  },
): number | null | 'taken' | 'resting' {
  if (address.kind !== 'ports') return null
  const { first, last, scheme } = address
  const { taken, left } = known
  const restedBefore = asked.nowMs - REST_MS
  const free = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(port => !taken.has(port))
  /** 0 for a port that can go to this person at once; others by when they were left. */
  const leftMs = (port: number) => {
    const held = left.get(port)
    const isOwn = held?.userId === asked.userId && (!held.ofOther || held.sessionId === asked.sessionId)
    return !held || isOwn ? 0 : held.leftAt.getTime()
  }
  const resting = free.filter(port => {
    const held = left.get(port)
    return held?.userId === asked.userId && held.leftAt.getTime() > restedBefore
  })
  const isShareUsed = countPortsOf(known, asked.userId) + resting.length >= portsPerUser(address)
  const open = isShareUsed ? resting : free
  const rested = open.filter(port => leftMs(port) <= restedBefore)
  if (asked.wanted !== undefined && rested.includes(asked.wanted)) return asked.wanted
  const candidates = rested.length > 0 || scheme === 'http' ? rested : open
  const oldest = Math.min(...candidates.map(leftMs))
  const best = candidates.filter(port => leftMs(port) === oldest)
  return best[Math.floor(Math.random() * best.length)] ?? (free.length === 0 ? 'taken' : 'resting')
}
