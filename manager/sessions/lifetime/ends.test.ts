import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SessionSpec } from '#manager/contract'
import { endOf, resolveLifetime, stricter, warnedAt, WARNINGS_MINUTES } from './ends.ts'

const MINUTE = 60_000
const never = {
  idleSince: null,
  idleTimeoutMs: null,
  expiresAt: null,
  maxLifetimeMs: null,
  slurmEndsAt: null,
  slurmLimitMs: null,
}

describe('the end of a session', () => {
  test('the end is unknown while the session is busy and has no maximum lifetime', () => {
    expect(endOf({ ...never, idleTimeoutMs: 10 * MINUTE })).toBeNull()
  })

  test('the end is the nearer of idle timeout and maximum lifetime', () => {
    const both = {
      ...never,
      idleSince: 0,
      idleTimeoutMs: 10 * MINUTE,
      expiresAt: 12 * MINUTE,
      maxLifetimeMs: 60 * MINUTE,
    }
    expect(endOf(both)).toEqual({ at: 10 * MINUTE, why: 'idle_timeout', totalMs: 10 * MINUTE })
    expect(endOf({ ...both, expiresAt: 9 * MINUTE })).toMatchObject({ at: 9 * MINUTE, why: 'max_lifetime' })
  })

  test('the time limit of the job in Slurm is an end too, with its own warnings', () => {
    const life = { ...never, expiresAt: 90 * MINUTE, maxLifetimeMs: 90 * MINUTE, slurmEndsAt: 60 * MINUTE }
    const end = endOf({ ...life, slurmLimitMs: 60 * MINUTE })
    expect(end).toEqual({ at: 60 * MINUTE, why: 'slurm_time_limit', totalMs: 60 * MINUTE })
    expect(endOf({ ...life, slurmEndsAt: 100 * MINUTE })).toMatchObject({ why: 'max_lifetime' })
  })

  test('the end is never later than either of them allows', () => {
    const time = fc.option(fc.integer({ min: 1, max: 1e9 }), { nil: null })
    fc.assert(
      fc.property(time, time, time, time, (idleSince, idleTimeoutMs, expiresAt, maxLifetimeMs) => {
        const end = endOf({ ...never, idleSince, idleTimeoutMs, expiresAt, maxLifetimeMs })
        const limits = [
          ...(idleSince === null || idleTimeoutMs === null ? [] : [idleSince + idleTimeoutMs]),
          ...(expiresAt === null ? [] : [expiresAt]),
        ]
        expect(end?.at ?? null).toBe(limits.length === 0 ? null : Math.min(...limits))
      }),
    )
  })
})

describe('warnings', () => {
  const end = { at: 60 * MINUTE, why: 'idle_timeout', totalMs: 60 * MINUTE } as const

  test.each([
    [44, null],
    [45, 45],
    [50, 45],
    [55, 55],
    [58, 55],
    [59, 59],
    [60, 59],
  ])('after %d of 60 minutes the last warning was due after %s', (now, due) => {
    expect(warnedAt(end, now * MINUTE)).toBe(due === null ? null : due * MINUTE)
  })

  test('warnings that would be due as soon as the time starts are left out', () => {
    const short = { ...end, at: 10 * MINUTE, totalMs: 10 * MINUTE }
    expect(warnedAt(short, 0)).toBeNull()
    expect(warnedAt(short, 5 * MINUTE)).toBe(5 * MINUTE)
    expect(warnedAt({ ...end, at: MINUTE, totalMs: MINUTE }, MINUTE)).toBeNull()
  })

  test('warnings are never in the future, and come exactly 15, 5 or 1 minutes before the end', () => {
    fc.assert(
      fc.property(fc.nat(1e8), fc.nat(1e8), fc.nat(1e8), (at, totalMs, now) => {
        const due = warnedAt({ at, totalMs, why: 'max_lifetime' }, now)
        if (due === null) return
        expect(due).toBeLessThanOrEqual(now)
        expect(WARNINGS_MINUTES.map(minutes => at - minutes * MINUTE)).toContain(due)
      }),
    )
  })
})

describe('the limits of a request', () => {
  const spec = { image: 'x', resources: {}, environ: {}, count: 1, resourceGroup: 'default' } satisfies SessionSpec
  const policy = { idleTimeoutSeconds: 600, maxLifetimeSeconds: 3600 }

  test('the policy applies to what the request leaves out', () => {
    expect(resolveLifetime(spec, policy)).toEqual({ kind: 'interactive', ...policy })
  })

  test('the stricter of request and policy applies', () => {
    const asked = { ...spec, idleTimeoutSeconds: 900, maxLifetimeSeconds: 60 }
    expect(resolveLifetime(asked, policy)).toMatchObject({ idleTimeoutSeconds: 600, maxLifetimeSeconds: 60 })
  })

  test('a batch session has no idle timeout: it is busy as long as its command runs', () => {
    const batch = { ...spec, kind: 'batch', startupCommand: 'sleep 1e6', idleTimeoutSeconds: 60 } as const
    expect(resolveLifetime(batch, policy)).toEqual({
      kind: 'batch',
      idleTimeoutSeconds: null,
      maxLifetimeSeconds: 3600,
    })
  })

  test('the limits never exceed those of either side', () => {
    const limit = fc.option(fc.nat(), { nil: null })
    fc.assert(
      fc.property(limit, limit, (one, other) => {
        const result = stricter(one, other)
        for (const each of [one, other]) if (each !== null) expect(result).toBeLessThanOrEqual(each)
        if (one === null && other === null) expect(result).toBeNull()
      }),
    )
  })
})
