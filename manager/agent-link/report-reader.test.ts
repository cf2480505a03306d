import { expect, test, vi } from 'vitest'
import { type Report } from '#agent/contract'
import { gpus, PYTHON } from '../../test/fixtures/scripted-agent.ts'
import { readMessage } from './read-message.ts'
import { createReportReader } from './report-reader.ts'

vi.mock(import('./read-message.ts'), { spy: true })

const FIGURES = [{ uuid: 'GPU-0', utilization: 5, memBytes: 1 }]
/** In the order of agents: what differs in each report comes first. */
const report = (sequence: number, more: object = {}, figures: object = { deviceFigures: FIGURES }) =>
  JSON.stringify({
    type: 'report',
    sequence,
    clockMs: 1_700_000_000_000 + sequence,
    ...figures,
    version: '0.1.0',
    engine: { version: '29.0.0', reachable: true },
    capacity: { cpu: 8000, mem: 2 ** 34 },
    devices: gpus(2),
    kernels: [],
    network: { isolation: 'full', reason: null },
    ...more,
  })

/** Reading of the last of these messages, and whether the whole of it was parsed. */
function readLast(...texts: readonly string[]) {
  const read = createReportReader()
  const last = texts.at(-1) ?? ''
  for (const text of texts.slice(0, -1)) read(text)
  const calls = vi.mocked(readMessage).mock.calls.length
  const { message, leftOut } = read(last)
  const isWhole = vi.mocked(readMessage).mock.calls.length > calls
  return { message, leftOut, isWhole }
}

test('of a report like the one before, only what differs is read', () => {
  const text = report(2, {}, { deviceFigures: [{ uuid: 'GPU-0', utilization: 99, memBytes: 7 }] })
  const { isWhole, ...read } = readLast(report(1), text)
  expect(isWhole).toBe(false)
  expect(read).toEqual(readMessage(text))
  expect(read.message).toMatchObject({ sequence: 2, deviceFigures: [{ utilization: 99 }] })
})

test('figures that a report no longer has are not those of the one before', () => {
  const text = report(2, {}, {})
  const { isWhole, message } = readLast(report(1), text)
  expect(isWhole).toBe(false)
  expect((message as Report).deviceFigures).toBeUndefined()
})

test.each([
  ['other devices', report(1), report(2, { devices: gpus(1) })],
  ['images, which would be written again', report(1, { images: [PYTHON] }), report(2, { images: [PYTHON] })],
  [
    'a part that was left out',
    report(1, { capacity: { cpu: -1, mem: 5 } }),
    report(2, { capacity: { cpu: -1, mem: 5 } }),
  ],
  ['wrong figures', report(1), report(2, {}, { deviceFigures: [{ uuid: 5 }] })],
  [
    'characters that cannot be stored',
    report(1),
    report(2, {}, { deviceFigures: [{ uuid: 'GPU-\0', utilization: 1, memBytes: 1 }] }),
  ],
  ['fields of the second part in the first', report(1), report(2).replace('"clockMs"', '"kernels":[],"clockMs"')],
  ['a field that is there twice', report(1, { sequence: 1 }), `${report(2).slice(0, -1)},"sequence":1}`],
  [
    'a very long report',
    report(1, { host: { problem: 'x'.repeat(70_000) } }),
    report(2, { host: { problem: 'x'.repeat(70_000) } }),
  ],
])('a report with %s is read whole', (_, first, second) => {
  let expected: unknown
  try {
    expected = readMessage(second)
  } catch {
    expected = 'refused'
  }
  const read = () => readLast(first, second)
  if (expected === 'refused') expect(read).toThrow('not valid')
  else {
    const { isWhole, ...found } = read()
    expect(isWhole).toBe(true)
    expect(found).toEqual(expected)
  }
})

test('a second part inside of another value is no part of the report', () => {
  const hidden = `{"type":"report","sequence":1,"x":{"y":1,"version":"1"},${report(1).slice(1)}`
  const text = hidden.replace('"sequence":1', '"sequence":2')
  const { isWhole, ...found } = readLast(hidden, text)
  expect(isWhole).toBe(true)
  expect(found).toEqual(readMessage(text))
})
