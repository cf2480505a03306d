import { type SessionRow } from '../../store/sessions/sessions.ts'
import { type Lifetime } from './ends.ts'

/** The lifetime in milliseconds, by the database's clock. */
export function lifetimeOf(
  session: Pick<
    SessionRow,
    'idle_since' | 'idle_timeout_seconds' | 'started_at' | 'expires_at' | 'max_lifetime_seconds' | 'slurm_ends_at'
  >,
): Lifetime {
  const inMs = (seconds: number | null) => (seconds === null ? null : seconds * 1000)
  const slurmEndsAt = session.slurm_ends_at?.getTime() ?? null
  return {
    idleSince: session.idle_since?.getTime() ?? null,
    idleTimeoutMs: inMs(session.idle_timeout_seconds),
    expiresAt: session.expires_at?.getTime() ?? null,
    maxLifetimeMs: inMs(session.max_lifetime_seconds),
    slurmEndsAt,
    slurmLimitMs: slurmEndsAt !== null && session.started_at ? slurmEndsAt - session.started_at.getTime() : null,
  }
}
