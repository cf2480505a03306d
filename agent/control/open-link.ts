import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
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
}

/**
 * Head start of the direct attempt. It is long enough for a round trip around the world: a manager that can be dialled directly should not
 * be reached through another one.
 */
const HEAD_START_MS = 400

/**
 * Dials the manager. If that fails or is slow, tries through another manager as well; the first connection to open wins.
 *
 * @throws the error of the direct attempt
 */
export async function openLink({ where, route, isDirectUseless }: Ways, signal: AbortSignal): Promise<OpenedLink> {
  if (!route) return await open(where, undefined, signal)
  if (isDirectUseless) return await open(where, route, signal)
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const direct = open(where, undefined, either)
  const quick = await Promise.race([direct.catch(() => undefined), delay(HEAD_START_MS, undefined, { ref: false })])
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

async function open(where: Where, route: Route | undefined, signal: AbortSignal): Promise<OpenedLink> {
  const nonce = randomBytes(32).toString('base64url')
  return { link: await dialManager({ ...where, nonce, route }, signal), nonce, route }
}
