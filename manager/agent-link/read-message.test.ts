import { expect, test } from 'vitest'
import { type AgentImage } from '#agent/contract'
import { PYTHON } from '../../test/fixtures/scripted-agent.ts'
import { isLongReport, readLongReport, readMessage } from './read-message.ts'

const report = (images: readonly unknown[], more: object = {}) =>
  JSON.stringify({
    type: 'report',
    sequence: 1,
    version: '0.1.0',
    engine: { version: '29.0.0', reachable: true },
    capacity: { cpu: 8000, mem: 2 ** 34 },
    devices: [],
    images,
    kernels: [],
    network: { isolation: 'full', reason: null },
    clockMs: 1_700_000_000_000,
    ...more,
  })
const images = (count: number): AgentImage[] =>
  Array.from({ length: count }, (_, i) => ({ ...PYTHON, id: `sha256:${i}`, references: [`i:${i}`] }))

test('a long report is read with the same result as a short one, invalid items and characters included', async () => {
  const odd = [...images(1_000), null, { ...PYTHON, minimum: { cpu: -1 } }, { ...PYTHON, title: 'a\0b\ud800' }]
  for (const more of [{}, { capacity: { cpu: -1, mem: 5 } }, { kernels: [1, null] }, { devices: 'none' }]) {
    const text = report(odd, more)
    expect(isLongReport(text)).toBe(true)
    const outcome = async (read: () => unknown): Promise<unknown> => {
      try {
        return await read()
      } catch (error) {
        return (error as { code: string }).code
      }
    }
    expect(await outcome(() => readLongReport(text))).toEqual(await outcome(() => readMessage(text)))
  }
})

test('timers run while thousands of images are read', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const { message } = await readLongReport(report(images(10_000)))
  clearInterval(timer)
  expect(message.images).toHaveLength(10_000)
  expect(turns).toBeGreaterThan(10)
})

test('a message that claims to be a report and is not is refused', async () => {
  const text = `{"type":"report","type":"stats","kernels":[],"filler":"${'x'.repeat(300_000)}"}`
  await expect(readLongReport(text)).rejects.toMatchObject({ code: 'bad_request' })
})

test('a message that is nested deeper than the stack is read, invalid characters included', async () => {
  const deep = `${'['.repeat(200_000)}"\\u0000"${']'.repeat(200_000)}`
  const text = report([{ ...PYTHON, title: 'a\0b' }]).replace('{', `{"type":"report","unknown":${deep},`)
  expect(readMessage(text).message).toMatchObject({ images: [{ title: 'ab' }] })
  expect((await readLongReport(text)).message).toMatchObject({ images: [{ title: 'ab' }] })
})

const EMPTY = Array.from({ length: 100_000 }, () => ({}))
const many = Object.fromEntries(EMPTY.map((_, at) => [`k${at}`, null]))
const device = { uuid: 'GPU-0', model: 'GPU', memBytes: 1, isolationReason: null, problem: null }

/** Processor time of this process. */
function userMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  return process.cpuUsage(before).user / 1_000
}

test.each<[string, object]>([
  ['images', { images: EMPTY }],
  ['containers', { kernels: EMPTY }],
  ['devices', { devices: EMPTY }],
  ['figures of devices', { deviceFigures: EMPTY }],
  ['values of a reason', { devices: [{ ...device, problemBy: { values: many } }] }],
  ['amounts', { capacity: { cpu: -1, ...many } }],
  ['apps of an image', { images: [{ ...PYTHON, apps: [{ ...PYTHON.apps[0], environ: many, command: EMPTY }] }] }],
])('a report with 100,000 invalid %s is read as quickly as a valid one', async (_what, more) => {
  const text = report([], more)
  const parsed = userMs(() => JSON.parse(text))
  const before = process.cpuUsage()
  await readLongReport(text).catch(() => undefined)
  try {
    readMessage(text)
  } catch {}
  // A second, or correspondingly more on a slow machine: before entries were read up to the first fault, it was more than 150 times the
  // parser's time.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(Math.max(1_000, 50 * parsed))
})
