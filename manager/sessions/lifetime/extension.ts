/** A running session whose owner wants it to go on, and what stands against it. Milliseconds, one clock. */
export interface Extendable {
  readonly startedAt: number
  /** Null: it has no maximum lifetime. */
  readonly expiresAt: number | null
  /** The lifetime that it was started with. */
  readonly maxLifetimeMs: number | null
  /** What the owner's policies allow, counted from the start; null = unlimited. */
  readonly allowedMs: number | null
  /** The idle clock ends it before its lifetime does. */
  readonly idleFirst: boolean
  /** What it holds is promised to a session that waits. */
  readonly promised: boolean
}

export type Extension =
  /** `expiresAt` as it is from now on. */
  | { readonly ok: true; readonly expiresAt: number | null }
  | { readonly ok: false; readonly why: string; readonly latest: number | null }

/**
 * How far the end may be put off. The idle time starts anew in any case that is `ok`; the maximum lifetime grows by
 * `byMs`, or, where nothing is said and it is what ends next, by as much as it was at the start, within the policy. Pure.
 */
export function extensionOf(session: Extendable, byMs: number | undefined): Extension {
  const { expiresAt, maxLifetimeMs, allowedMs, startedAt } = session
  if (expiresAt === null) return { ok: true, expiresAt: null }
  if (byMs === undefined && session.idleFirst) return { ok: true, expiresAt }
  if (session.promised) {
    return { ok: false, why: 'Another session waits for what it holds, and counts on its end.', latest: expiresAt }
  }
  const latest = allowedMs === null ? Infinity : startedAt + allowedMs
  const wanted = expiresAt + (byMs ?? maxLifetimeMs ?? 0)
  const granted = byMs === undefined ? Math.min(wanted, latest) : wanted
  if (granted > latest || latest <= expiresAt) {
    return { ok: false, why: limitOf(latest, expiresAt), latest: Number.isFinite(latest) ? latest : null }
  }
  return { ok: true, expiresAt: granted }
}

function limitOf(latest: number, expiresAt: number): string {
  return latest <= expiresAt
    ? 'It has the longest lifetime that its resource policy allows.'
    : `Its resource policy lets it run until ${new Date(latest).toISOString()} at the latest.`
}
