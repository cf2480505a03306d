import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type FromAgent, HEARTBEAT_MS } from '#agent/contract'
import { createReporter, type CurrentReport } from './reporter.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start() {
  let version = 0
  const sent: FromAgent[] = []
  const heard: string[] = []
  const report = (): CurrentReport => ({
    version: String(++version),
    engine: { version: '29', reachable: true },
    capacity: {},
    devices: [],
    images: [],
    kernels: [],
    network: { isolation: 'full', reason: null },
  })
  const reporter = createReporter(report, { send: message => void sent.push(message) }, ({ version }) =>
    heard.push(version),
  )
  return { reporter, sent, heard }
}

test('a report counts as heard once the manager has taken it up, with those before it', () => {
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

test('of a manager that takes nothing up for an hour only the last reports are kept', () => {
  const { reporter, sent, heard } = start()
  using _reporter = reporter
  vi.advanceTimersByTime(3_600_000)
  expect(sent).toHaveLength(3_600_000 / HEARTBEAT_MS)
  reporter.takenUp(sent.length)
  expect(heard).toHaveLength(8)
  expect(heard.at(-1)).toBe(String(sent.length))
})

test('images are sent when they changed only', () => {
  const { reporter, sent } = start()
  using _reporter = reporter
  reporter.now()
  reporter.soon()
  vi.advanceTimersByTime(100)
  expect(sent.map(message => 'images' in message)).toEqual([true, false])
})
