import { because, type Because } from '#manager/contract'

/** A running session that its owner wants to extend, with the limits for that. Milliseconds, one clock. */
export interface Extendable {
  readonly startedAt: number
  /** Null if it has no maximum lifetime. */
  readonly expiresAt: number | null
  /** The maximum lifetime with which it was started. */
  readonly maxLifetimeMs: number | null
  /** The lifetime that the owner's policies allow, counted from the start; null = unlimited. */
  readonly allowedMs: number | null
  /** End of the job in Slurm, which nobody but Slurm's administrators can move; null: no limit. */
  readonly slurmEndsAt: number | null
  /** Whether the idle timeout ends it before its maximum lifetime does. */
  readonly idleFirst: boolean
  /** Whether its resources are reserved for a waiting session. */
  readonly promised: boolean
}

export type Extension =
  /** `expiresAt` is the new end. */
  | { readonly ok: true; readonly expiresAt: number | null }
  | { readonly ok: false; readonly why: Because; readonly latest: number | null }

/**
 * Calculates the new end. The idle time restarts whenever the result is `ok`. The maximum lifetime grows by `byMs`. Without `byMs`, it
 * grows by its initial value, within the policy, if it is the next end of the session. Pure.
 */
export function extensionOf(session: Extendable, byMs: number | undefined): Extension {
  const { expiresAt, maxLifetimeMs, allowedMs, startedAt, slurmEndsAt } = session
  if (byMs === undefined && session.idleFirst) return { ok: true, expiresAt }
  // The job ends first, so a longer lifetime would be an empty promise.
  if (slurmEndsAt !== null && slurmEndsAt <= (expiresAt ?? Infinity)) return refusedBySlurm(slurmEndsAt)
  if (expiresAt === null) return { ok: true, expiresAt: null }
  if (session.promised) {
    return {
      ok: false,
      why: because('extension_promised'),
      latest: expiresAt,
    }
  }
  const allowed = allowedMs === null ? Infinity : startedAt + allowedMs
  const latest = Math.min(allowed, slurmEndsAt ?? Infinity)
  const wanted = expiresAt + (byMs ?? maxLifetimeMs ?? 0)
  const granted = byMs === undefined ? Math.min(wanted, latest) : wanted
  if (granted <= latest && latest > expiresAt) return { ok: true, expiresAt: granted }
  if (latest < allowed) return refusedBySlurm(latest)
  return { ok: false, why: limitOf(latest, expiresAt), latest: Number.isFinite(latest) ? latest : null }
}

const refusedBySlurm = (endsAt: number): Extension => ({
  ok: false,
  why: because('extension_of_slurm', { time: new Date(endsAt).toISOString() }),
  latest: endsAt,
})

function limitOf(latest: number, expiresAt: number): Because {
  if (latest <= expiresAt) return because('extension_longest')
  return because('extension_until', { time: new Date(latest).toISOString() })
}
