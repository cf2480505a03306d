import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Extendable, extensionOf } from './extension.ts'

const HOUR = 3_600_000
/** A session that started at 0 with a lifetime of two hours. */
const session: Extendable = {
  startedAt: 0,
  expiresAt: 2 * HOUR,
  maxLifetimeMs: 2 * HOUR,
  allowedMs: null,
  idleFirst: false,
  promised: false,
  slurmEndsAt: null,
}

describe('an extension', () => {
  test('without a time, it adds the lifetime once more', () => {
    expect(extensionOf(session, undefined)).toEqual({ ok: true, expiresAt: 4 * HOUR })
  })

  test('with a time, it adds that time', () => {
    expect(extensionOf(session, HOUR / 2)).toEqual({ ok: true, expiresAt: 2.5 * HOUR })
  })

  test('for an idle session, it leaves the maximum lifetime as it is', () => {
    expect(extensionOf({ ...session, idleFirst: true }, undefined)).toEqual({ ok: true, expiresAt: 2 * HOUR })
    expect(extensionOf({ ...session, expiresAt: null, maxLifetimeMs: null }, HOUR)).toEqual({
      ok: true,
      expiresAt: null,
    })
  })

  test('beyond the time limit of the job in Slurm, it is refused', () => {
    const limited = { ...session, slurmEndsAt: 3 * HOUR }
    expect(extensionOf(limited, undefined)).toEqual({ ok: true, expiresAt: 3 * HOUR })
    const refused = { ok: false, why: { cause: 'extension_of_slurm' }, latest: 3 * HOUR }
    expect(extensionOf(limited, 2 * HOUR)).toMatchObject(refused)
    expect(extensionOf({ ...limited, expiresAt: null }, HOUR)).toMatchObject(refused)
    expect(extensionOf({ ...limited, expiresAt: null }, undefined)).toMatchObject(refused)
    expect(extensionOf({ ...limited, expiresAt: null, idleFirst: true }, undefined)).toMatchObject({ ok: true })
  })

  test('without a time, it goes as far as the policy allows', () => {
    expect(extensionOf({ ...session, allowedMs: 3 * HOUR }, undefined)).toEqual({ ok: true, expiresAt: 3 * HOUR })
  })

  test('beyond the policy, it is refused with the allowed maximum', () => {
    const refused = extensionOf({ ...session, allowedMs: 3 * HOUR }, 2 * HOUR)
    expect(refused).toMatchObject({ ok: false, latest: 3 * HOUR })
    expect(extensionOf({ ...session, allowedMs: 2 * HOUR }, undefined)).toMatchObject({ ok: false, latest: 2 * HOUR })
  })

  test('it is refused if another session was promised what this session holds', () => {
    expect(extensionOf({ ...session, promised: true }, undefined)).toMatchObject({ ok: false })
    expect(extensionOf({ ...session, promised: true, idleFirst: true }, undefined)).toMatchObject({ ok: true })
  })

  test('it never shortens a session, and never exceeds the policy', () => {
    const time = fc.integer({ min: 0, max: 100 }).map(hours => hours * HOUR)
    fc.assert(
      fc.property(time, time, fc.option(time, { nil: null }), fc.option(time), (expiresAt, life, allowedMs, by) => {
        const extension = extensionOf({ ...session, expiresAt, maxLifetimeMs: life, allowedMs }, by ?? undefined)
        if (!extension.ok) return
        expect(extension.expiresAt).toBeGreaterThanOrEqual(expiresAt)
        if (allowedMs !== null) expect(extension.expiresAt).toBeLessThanOrEqual(allowedMs)
      }),
    )
  })
})
