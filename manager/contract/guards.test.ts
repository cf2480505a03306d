import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { AppError, isProblem, toProblem } from './errors.ts'
import { EventHint } from './events.ts'
import { isEventHint, isSessionStats } from './guards.ts'
import { SessionId } from './ids.ts'
import { isSessionId } from './sessions/is-session-id.ts'
import { Problem } from './problem.ts'
import { SessionStats } from './sessions/sessions.ts'

const ID = '0199a000-0000-7000-8000-00000000000a'
const STATS = {
  at: '2026-11-20T12:00:00.000Z',
  cpuMilli: 100,
  cpuSeconds: 4,
  memBytes: 1,
  memPeakBytes: 1,
  netRxBytes: 0,
  netTxBytes: 0,
  diskReadBytes: 0,
  diskWriteBytes: 0,
  scratchBytes: null,
  gpus: [
    {
      uuid: 'GPU-1',
      utilization: 12,
      memBytes: null,
      device: { utilization: null, memBytes: 5, totalBytes: 80 },
    },
  ],
}
const PROBLEM = { ...toProblem(new AppError('port_in_use', { port: 22 })), data: { port: 22 } }

/** A value that the schema accepts, with one member at any depth replaced, left out or added. */
function damaged(valid: unknown): fc.Arbitrary<unknown> {
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(undefined, null, Infinity, -1, 0.5, 2 ** 60, '', [], {}, true, 'session', ID, ID.toUpperCase()),
  )
  if (typeof valid !== 'object' || valid === null) return anything
  const members = Object.entries(valid)
  const replaced = members.map(([name, member]) =>
    damaged(member).map(value => (Array.isArray(valid) ? [value] : { ...valid, [name]: value })),
  )
  const added = anything.map(value =>
    Array.isArray(valid) ? [...(valid as unknown[]), value] : { ...valid, added: value },
  )
  const leftOut = members.map(([name]) => fc.constant(Object.fromEntries(members.filter(([other]) => other !== name))))
  return fc.oneof(anything, added, ...replaced, ...leftOut, fc.constant(valid))
}

/** The only difference of the guard, as its comment describes it. */
const LooseStats = SessionStats.extend({ at: z.string() })

test.each([
  ['isProblem', isProblem, Problem, PROBLEM],
  ['isEventHint', isEventHint, EventHint, { topic: 'session', id: ID, version: 3 }],
  ['isSessionStats', isSessionStats, LooseStats, STATS],
  ['isSessionId', isSessionId, SessionId, ID],
] as const)('the guard of %s accepts exactly what the schema accepts', (_name, isRight, schema, valid) => {
  expect(isRight(valid)).toBe(true)
  fc.assert(
    fc.property(damaged(valid), value => {
      expect(isRight(value)).toBe(schema.safeParse(value).success)
    }),
    { numRuns: 2_000 },
  )
})

test('a session id has lower-case letters and nothing before or after', () => {
  for (const wrong of [ID.toUpperCase(), ` ${ID}`, `${ID}\n`, ID.replaceAll('-', ''), '']) {
    expect(isSessionId(wrong), JSON.stringify(wrong)).toBe(false)
  }
})
