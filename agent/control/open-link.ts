import { randomBytes } from 'node:crypto'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { dialManager, type Link } from './link.ts'
import { type Route, type Where } from './reach.ts'

export interface OpenedLink {
  readonly link: Link
  /** Nonce for the manager to sign. */
  readonly nonce: string
  /** Undefined if the manager was dialled directly. */
  readonly route: Route | undefined
}

export interface Ways {
  readonly where: Where
  /** Indirect route, through another manager. */
  readonly route: Route | undefined
  readonly isDirectUseless: boolean
  /** Called when the computer of the manager has taken a direct connection. */
  readonly onReached?: () => void
}

/**
 * Head start of the direct attempt. It is long enough for a round trip around the world: a manager that can be dialled directly should not
 * be reached through another one.
 */
const HEAD_START_MS = 400
/**
 * Time that the direct attempt has once the manager's computer has taken the connection: it can be dialled, and has much to do, as after a
 * restart, when all agents come back. The way through another manager would be no quicker, and give both more to do.
 */
const REACHED_MS = 5_000

/**
 * Dials the manager. If that fails or is slow, tries through another manager as well; the first connection to open wins.
 *
 * @throws the error of the direct attempt
 */
export async function openLink(
  { where, route, isDirectUseless, onReached }: Ways,
  signal: AbortSignal,
): Promise<OpenedLink> {
  if (!route) return await open(where, undefined, signal, onReached)
  if (isDirectUseless) return await open(where, route, signal)
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  let isReached = false
  const direct = open(where, undefined, either, () => {
    isReached = true
    onReached?.()
  })
  const headStart = async () => {
    await delay(HEAD_START_MS, undefined, { ref: false })
    // After a stall of this process, what has arrived meanwhile is read first.
    await setImmediate()
    if (isReached) await delay(REACHED_MS - HEAD_START_MS, undefined, { ref: false })
  }
  const quick = await Promise.race([direct.catch(() => undefined), headStart()])
  if (quick) return quick
  const attempts = [direct, open(where, route, either)]
  const first = await Promise.any(attempts).catch(() => direct)
  // The losing attempt may still open; then close it.
  for (const attempt of attempts) {
    attempt.then(
      other => (other === first ? undefined : other.link[Symbol.dispose]()),
      () => undefined,
    )
  }
  over.abort()
  return first
}

/** Opens a direct connection and closes it again. @returns true; never false. @throws the error of the attempt */
export async function canBeDialled(where: Where, signal: AbortSignal): Promise<boolean> {
  const { link } = await open(where, undefined, signal)
  link[Symbol.dispose]()
  return true
}

/** @param onReached called when the computer of a manager that is dialled directly has taken the connection */
async function open(
  where: Where,
  route: Route | undefined,
  signal: AbortSignal,
  onReached?: () => void,
): Promise<OpenedLink> {
  const nonce = randomBytes(32).toString('base64url')
  return { link: await dialManager({ ...where, nonce, route, onReached }, signal), nonce, route }
}
