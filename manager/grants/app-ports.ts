import { type AppsAddress, type SessionId, type UserId } from '#manager/contract'
import { type PortsKnown } from '../store/sessions/app-ports.ts'

/**
 * Time before a port that one person has left may go to another person: the app's page may still be open in a browser, with the same origin
 * as the next app.
 */
export const REST_MS = 24 * 3_600_000
const MOST_PER_USER = 16

/** Largest number of ports of one person, by links and by own apps, so that some remain for others. Infinite if apps have names. */
export function portsPerUser(address: AppsAddress): number {
  return address.kind === 'ports'
    ? Math.min(MOST_PER_USER, Math.ceil((address.last - address.first + 1) / 2))
    : Number.POSITIVE_INFINITY
}

/** Number of ports that a person has. */
export const countPortsOf = ({ taken }: PortsKnown, userId: UserId) =>
  [...taken.values()].filter(holder => holder === userId).length

/**
 * Chooses the port of an app: the wanted one if it is free and was not left by another person recently, else one that the person had before
 * or that had no app yet, else the one that was left first.
 *
 * Over https, browsers clear data of the port's former app, so a recently left port is better than none. Over http, browsers cannot be made
 * to clear their cache, so such a port is not given out.
 *
 * Threat model: somebody's page may still be open at a port that this person has left, and could act in the app that gets the port next.
 * Somebody who takes and leaves one port after another would block all of them: over http nobody else would get a port, and over https the
 * next person would get the port that was left first. So recently left ports count towards the share of the person who left them, who gets
 * them again when the share is used up. A page of an app of somebody else's session belongs to that person, whoever opened it; the same may
 * be true of one's own session that others used, or whose command an administrator chose. It acts in no other session.
 *
 * @returns null if apps have names; `taken` if no port is free, `resting` if every free one was left by another person recently
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
  /** 0 for a port that can go to this person at once; else the time when it was left. */
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
