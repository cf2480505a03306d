import { type AppsAddress, type UserId } from '#manager/contract'
import { type PortsKnown } from '../store/sessions/app-ports.ts'

/**
 * A port that one person gave up goes to another only after this time: the app's page may still be open in a browser, and it is of the
 * same origin as the app that comes next.
 */
export const REST_MS = 24 * 3_600_000
const MOST_PER_USER = 16

/** Ports that one person may have: everybody else needs some too. Infinite where apps have names. */
export function portsPerUser(address: AppsAddress): number {
  return address.kind === 'ports'
    ? Math.min(MOST_PER_USER, Math.ceil((address.last - address.first + 1) / 2))
    : Number.POSITIVE_INFINITY
}

/**
 * Chooses the port of an app: the wanted one if it is free and nobody else left it of late, else one that the person had before or that
 * had no app yet, else the one that was left first.
 *
 * Over https a browser clears what the former app left at the port, so a port that has not rested is better than none. Over http
 * nothing makes a browser forget its cache: such a port is not given out.
 *
 * @returns null where apps are at names; `taken` if no port is free, `resting` if every free one was another person's of late
 */
export function choosePort(
  address: AppsAddress,
  { taken, left }: PortsKnown,
  asked: { readonly userId: UserId; readonly wanted: number | undefined; readonly nowMs: number },
): number | null | 'taken' | 'resting' {
  if (address.kind !== 'ports') return null
  const { first, last, scheme } = address
  const free = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(port => !taken.has(port))
  /** 0 for a port that can go to this person at once; others by when they were left. */
  const leftMs = (port: number) => {
    const held = left.get(port)
    return !held || held.userId === asked.userId ? 0 : held.leftAt.getTime()
  }
  const rested = free.filter(port => leftMs(port) <= asked.nowMs - REST_MS)
  if (asked.wanted !== undefined && rested.includes(asked.wanted)) return asked.wanted
  const candidates = rested.length > 0 || scheme === 'http' ? rested : free
  const oldest = Math.min(...candidates.map(leftMs))
  const best = candidates.filter(port => leftMs(port) === oldest)
  return best[Math.floor(Math.random() * best.length)] ?? (free.length === 0 ? 'taken' : 'resting')
}
