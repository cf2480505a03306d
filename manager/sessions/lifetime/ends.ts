import { type SessionEnd, type SessionKind, type SessionSpec } from '#manager/contract'

/** Minutes before the end at which its owner is warned. One that would come with the start of the clock is left out. */
export const WARNINGS_MINUTES = [15, 5, 1] as const

/** What decides when a running session ends by itself. Milliseconds since the epoch, one clock. */
export interface Lifetime {
  readonly idleSince: number | null
  readonly idleTimeoutMs: number | null
  readonly expiresAt: number | null
  readonly maxLifetimeMs: number | null
}

export interface End {
  readonly at: number
  readonly why: SessionEnd['why']
  /** How long the clock ran, or runs, in all: a warning that is not shorter than this is no warning. */
  readonly totalMs: number
}

/** The nearer of the two ends; null where none is known. At the same time the hard one. Pure. */
export function endOf({ idleSince, idleTimeoutMs, expiresAt, maxLifetimeMs }: Lifetime): End | null {
  const idle: End | null =
    idleSince === null || idleTimeoutMs === null
      ? null
      : { at: idleSince + idleTimeoutMs, why: 'idle_timeout', totalMs: idleTimeoutMs }
  const hard: End | null =
    expiresAt === null ? null : { at: expiresAt, why: 'max_lifetime', totalMs: maxLifetimeMs ?? Infinity }
  if (!idle || !hard) return idle ?? hard
  return idle.at < hard.at ? idle : hard
}

/** When the last warning was due; null before the first. Pure: a restart repeats nothing and forgets nothing. */
export function warnedAt({ at, totalMs }: End, now: number): number | null {
  const due = WARNINGS_MINUTES.map(minutes => minutes * 60_000)
    .filter(before => before < totalMs)
    .map(before => at - before)
    .filter(time => time <= now)
  return due.length === 0 ? null : Math.max(...due)
}

/** As clients see it. */
export function toSessionEnd(end: End, now: number): SessionEnd {
  const warned = warnedAt(end, now)
  return {
    at: new Date(end.at).toISOString(),
    why: end.why,
    warnedAt: warned === null ? null : new Date(warned).toISOString(),
  }
}

/** Both may say something, or neither: the smaller one counts. */
export function stricter(one: number | null | undefined, other: number | null | undefined): number | null {
  if (one === null || one === undefined) return other ?? null
  return other === null || other === undefined ? one : Math.min(one, other)
}

export interface ResolvedLifetime {
  readonly kind: SessionKind
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
}

/** What a request asks for, within what the policies allow. A batch session is busy as long as its command runs. Pure. */
export function resolveLifetime(
  { kind = 'interactive', idleTimeoutSeconds, maxLifetimeSeconds }: SessionSpec,
  limits: Omit<ResolvedLifetime, 'kind'>,
): ResolvedLifetime {
  return {
    kind,
    idleTimeoutSeconds: kind === 'batch' ? null : stricter(idleTimeoutSeconds, limits.idleTimeoutSeconds),
    maxLifetimeSeconds: stricter(maxLifetimeSeconds, limits.maxLifetimeSeconds),
  }
}
