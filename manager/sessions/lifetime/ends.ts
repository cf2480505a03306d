import { type SessionEnd, type SessionKind, type SessionSpec } from '#manager/contract'

/**
 * Minutes before the end at which the owner is warned. A warning that would be due when the clock starts is left out.
 */
export const WARNINGS_MINUTES = [15, 5, 1] as const

/** The values that decide when a running session ends on its own. Milliseconds since the epoch, all by one clock. */
export interface Lifetime {
  readonly idleSince: number | null
  readonly idleTimeoutMs: number | null
  readonly expiresAt: number | null
  readonly maxLifetimeMs: number | null
  /** End of the job in Slurm. Slurm ends the session then, not Berth. */
  readonly slurmEndsAt: number | null
  /** Length of the job, as far as it is known. */
  readonly slurmLimitMs: number | null
}

export interface End {
  readonly at: number
  readonly why: SessionEnd['why']
  /** Total duration of the clock that ends the session. Warnings that are not shorter than this are skipped. */
  readonly totalMs: number
}

/** The nearest of the ends, null if there is none; on a tie the one that no use of the session moves. Pure. */
export function endOf(lifetime: Lifetime): End | null {
  const { idleSince, idleTimeoutMs, expiresAt, maxLifetimeMs, slurmEndsAt, slurmLimitMs } = lifetime
  const ends: End[] = []
  if (slurmEndsAt !== null) ends.push({ at: slurmEndsAt, why: 'slurm_time_limit', totalMs: slurmLimitMs ?? Infinity })
  if (expiresAt !== null) ends.push({ at: expiresAt, why: 'max_lifetime', totalMs: maxLifetimeMs ?? Infinity })
  if (idleSince !== null && idleTimeoutMs !== null)
    ends.push({ at: idleSince + idleTimeoutMs, why: 'idle_timeout', totalMs: idleTimeoutMs })
  return ends.toSorted((a, b) => a.at - b.at)[0] ?? null
}

/**
 * When the most recent warning was due; null before the first. Pure: after a restart no warning is repeated or
 * forgotten.
 */
export function warnedAt({ at, totalMs }: End, now: number): number | null {
  const due = WARNINGS_MINUTES.map(minutes => minutes * 60_000)
    .filter(before => before < totalMs)
    .map(before => at - before)
    .filter(time => time <= now)
  return due.length === 0 ? null : Math.max(...due)
}

/** Converts an end to the form for clients. */
export function toSessionEnd(end: End, now: number): SessionEnd {
  const warned = warnedAt(end, now)
  return {
    at: new Date(end.at).toISOString(),
    why: end.why,
    warnedAt: warned === null ? null : new Date(warned).toISOString(),
  }
}

/** The smaller of two limits, either of which may be missing. */
export function stricter(one: number | null | undefined, other: number | null | undefined): number | null {
  if (one === null || one === undefined) return other ?? null
  return other === null || other === undefined ? one : Math.min(one, other)
}

export interface ResolvedLifetime {
  readonly kind: SessionKind
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
}

/**
 * Limits the lifetime a request asks for to the policies. A batch session has no idle timeout: it is busy while its
 * command runs. Pure.
 */
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
