import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type FromAgent, HEARTBEAT_MS } from '#agent/contract'
import { KernelId, SessionId } from '#manager/contract'
import { createReporter, type CurrentReport } from './reporter.ts'

const id = (end: number) => `01900000-0000-7000-8000-${String(end).padStart(12, '0')}`
const KERNELS = [1, 2].map(end => KernelId.parse(id(end)))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start() {
  let version = 0
  const sent: FromAgent[] = []
  const heard: string[] = []
  const heardOf: KernelId[][] = []
  const report = (): CurrentReport => ({
    version: String(++version),
    engine: { version: '29', reachable: true },
    capacity: {},
    devices: [],
    images: [],
    kernels: KERNELS.map(kernelId => ({
      kernelId,
      sessionId: SessionId.parse(id(9)),
      attempt: 1,
      state: { state: 'starting', phase: 'preparing' },
      label: {},
    })),
    network: { isolation: 'full', reason: null },
  })
  const reporter = createReporter(report, { send: message => void sent.push(message) }, ({ version, kernels }) => {
    heard.push(version)
    heardOf.push(kernels.map(({ kernelId }) => kernelId))
  })
  return { reporter, sent, heard, heardOf }
}

test('a report counts as received once the manager has taken it up, with all reports before it', () => {
  const { reporter, heard } = start()
  using _reporter = reporter
  reporter.now()
  reporter.now()
  reporter.now()
  expect(heard).toEqual([])
  reporter.takenUp(2)
  expect(heard).toEqual(['1', '2'])
  reporter.takenUp(3)
  reporter.takenUp(3)
  expect(heard).toEqual(['1', '2', '3'])
})

test('a kernel that the manager could not take up does not delay others', () => {
  const { reporter, heardOf } = start()
  using _reporter = reporter
  reporter.now()
  reporter.takenUp(1, { except: KERNELS.slice(0, 1) })
  reporter.now()
  reporter.takenUp(2)
  expect(heardOf).toEqual([KERNELS.slice(1), KERNELS])
})

test('for a manager that takes up nothing for an hour, only the last reports are kept', () => {
  const { reporter, sent, heard } = start()
  using _reporter = reporter
  vi.advanceTimersByTime(3_600_000)
  expect(sent).toHaveLength(3_600_000 / HEARTBEAT_MS)
  reporter.takenUp(sent.length)
  expect(heard).toHaveLength(8)
  expect(heard.at(-1)).toBe(String(sent.length))
})

test('images are sent only after a change', () => {
  const { reporter, sent } = start()
  using _reporter = reporter
  reporter.now()
  reporter.soon()
  vi.advanceTimersByTime(100)
  expect(sent.map(message => 'images' in message)).toEqual([true, false])
})
