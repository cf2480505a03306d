import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processesToEnd, processLimits, type ProcessUse } from './user-limits-rules.ts'

const LIMITS = { instances: 128, watches: 10_000, epollWatches: 1_000_000, inFlight: 1024, signals: 10_000 }
let pids = 0
const use = (kernelId: string, instances: number, watches = 0): ProcessUse => ({
  kernelId,
  pid: ++pids,
  instances,
  watches,
  epollWatches: 0,
  inFlight: 0,
  signals: 0,
})

test('below three quarters of the limits no session is touched', () => {
  expect(processesToEnd([use('mallory', 90), use('alice', 6)], LIMITS, 2)).toEqual([])
})

test('the largest process of the largest session is ended, and no more than needed', () => {
  const [big, small, alice] = [use('mallory', 100), use('mallory', 8), use('alice', 20)]
  expect(processesToEnd([big, small, alice], LIMITS, 2)).toEqual([
    { kernelId: 'mallory', pid: big.pid, what: 'instances' },
  ])
})

test('many small processes of one session count together', () => {
  const mallory = Array.from({ length: 118 }, () => use('mallory', 1))
  const ended = processesToEnd([...mallory, use('alice', 10)], LIMITS, 2)
  expect(ended).toHaveLength(32)
  expect(new Set(ended.map(({ kernelId }) => kernelId))).toEqual(new Set(['mallory']))
})

test('watches follow the same rules as instances', () => {
  const mallory = use('mallory', 1, 9_990)
  expect(processesToEnd([mallory, use('alice', 9, 5)], LIMITS, 2)).toEqual([
    { kernelId: 'mallory', pid: mallory.pid, what: 'watches' },
  ])
})

test.each(['epollWatches', 'inFlight', 'signals'] as const)('%s follow them too', what => {
  const mallory = { ...use('mallory', 1), [what]: LIMITS[what] }
  const alice = { ...use('alice', 9), [what]: 5 }
  expect(processesToEnd([mallory, alice], LIMITS, 2)).toEqual([{ kernelId: 'mallory', pid: mallory.pid, what }])
})

test('the process that is ended for one resource counts no more for the next', () => {
  const mallory = { ...use('mallory', 120, 9_990), inFlight: 2_000 }
  expect(processesToEnd([mallory, use('alice', 9, 5)], LIMITS, 2)).toEqual([
    { kernelId: 'mallory', pid: mallory.pid, what: 'instances' },
  ])
})

test('a kernel without such a limit has nobody ended for it', () => {
  const limits = { ...LIMITS, epollWatches: Infinity }
  expect(processesToEnd([{ ...use('mallory', 1), epollWatches: 10_000_000 }], limits, 2)).toEqual([])
})

test('limits of processes are those of the session that is refused first, but no session can lower them far', () => {
  const text = (
    files: string,
    signals = '96364',
  ) => `Limit                     Soft Limit           Hard Limit           Units
Max open files            ${files}                20000                files
Max pending signals       ${signals}                96364                signals
`
  const of = (...texts: string[]) => processLimits(texts)
  expect(of(text('20000'), text('524288', '31000'))).toEqual({ inFlight: 20_000, signals: 31_000 })
  expect(of(text('20000'), text('7', '0'))).toEqual({ inFlight: 1024, signals: 4096 })
  expect(of(text('unlimited', 'unlimited'), text('65536'), '')).toEqual({ inFlight: 65_536, signals: 96_364 })
})

test('a session within its share never loses a process, whatever others do', () => {
  const sessions = fc.array(fc.array(fc.nat(40), { maxLength: 6 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(sessions, list => {
      const uses = list.flatMap((processes, at) => processes.map(instances => use(`s${at}`, instances)))
      const ended = processesToEnd(uses, LIMITS, list.length)
      const share = (LIMITS.instances * 0.75) / list.length
      for (const { kernelId } of ended) {
        const held = uses
          .filter(other => other.kernelId === kernelId)
          .reduce((sum, { instances }) => sum + instances, 0)
        expect(held).toBeGreaterThan(share)
      }
    }),
  )
})
