import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type EngineClient } from '../docker/engine-client.ts'
import { createKeptLogs, type KeptLogsOptions } from './kept-logs.ts'

const MiB = 2 ** 20
const HOUR_MS = 3_600_000
const KERNEL = '01900000-0000-7000-8000-000000000001'

let directory: string
/** The log of the one container, as the engine sends it. */
let log: () => AsyncIterable<Buffer>
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-logs-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const streams = { getContainer: () => ({ logs: () => Promise.resolve(log()) }) }
const logs = (more: Partial<KeptLogsOptions> = {}) =>
  createKeptLogs({
    engine: { calls: streams, streams } as unknown as EngineClient,
    directory,
    logMib: 4,
    freeSpaceFloorBytes: 0,
    scratchRetentionMs: 24 * HOUR_MS,
    ...more,
  })

function frame(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text)
  const header = Buffer.alloc(8)
  header[0] = 1
  header.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([header, bytes])
}
/** Lines of a hundred bytes, in frames that chunk borders may cut. */
function* lines(from: number, to: number): Generator<Buffer> {
  for (let at = from; at < to; at += 1000) {
    const some = Array.from({ length: Math.min(1000, to - at) }, (_, i) => `${at + i} `.padEnd(99, '.') + '\n')
    const bytes = frame(some.join(''))
    yield bytes.subarray(0, 5)
    yield bytes.subarray(5)
  }
}
const given = (chunks: Iterable<Buffer>) => void (log = () => Readable.from(chunks))

async function all(kept = logs()) {
  const texts: string[] = []
  let isCut = false
  for (let part: number | null | undefined; part !== null;) {
    const { packed, next, truncated } = await kept.read(KERNEL, part)
    texts.push(gunzipSync(Buffer.from(packed, 'base64')).toString('utf8'))
    isCut ||= truncated
    part = next
  }
  return { text: texts.join(''), isCut, parts: texts.length }
}

test('a log is kept whole, in parts of whole lines, and read by another process', async () => {
  given(lines(0, 20_000))
  await logs().keep(KERNEL, 'c')
  const { text, isCut, parts } = await all()
  expect(text.split('\n')).toHaveLength(20_001)
  expect([text.startsWith('0 '), isCut, parts]).toEqual([true, false, 2])
})

test('of a longer log the end is kept, from the beginning of a line, and it says that it was cut', async () => {
  given(lines(0, 200_000))
  await logs().keep(KERNEL, 'c')
  const { text, isCut } = await all()
  expect(text.length).toBeGreaterThanOrEqual(4 * MiB)
  expect(text.length).toBeLessThan(5 * MiB)
  expect(text).toMatch(/^\d+ \.+\n/)
  expect([text.endsWith(`${'199999 '.padEnd(99, '.')}\n`), isCut]).toEqual([true, true])
  expect((await readdir(join(directory, 'logs', KERNEL))).length).toBeLessThanOrEqual(6)
})

test('a log of short lines counts as cut where the engine may have dropped its oldest ones', async () => {
  given([frame('x\n'.repeat(400_000))])
  await logs().keep(KERNEL, 'c')
  expect(await all()).toMatchObject({ isCut: true })
})

test('a line that is longer than a part is cut between characters', async () => {
  const line = '한'.repeat(700_000)
  given([frame(line)])
  await logs().keep(KERNEL, 'c')
  expect(await all()).toMatchObject({ text: line, parts: 3 })
})

test('a copy that fails leaves nothing, and a later one is complete', async () => {
  const kept = logs()
  given(
    (function* () {
      yield* lines(0, 15_000)
      throw new Error('the engine went away')
    })(),
  )
  await expect(kept.keep(KERNEL, 'c')).rejects.toThrow('went away')
  expect(await readdir(join(directory, 'logs'))).toEqual([])
  await expect(kept.read(KERNEL)).rejects.toMatchObject({ code: 'files_gone' })
  given(lines(0, 15_000))
  await kept.keep(KERNEL, 'c')
  log = () => {
    throw Object.assign(new Error('no such container'), { statusCode: 404 })
  }
  await expect(kept.keep(KERNEL, 'c')).rejects.toThrow('no such container')
  expect((await all()).isCut).toBe(false)
  await kept.discard(KERNEL)
  await expect(kept.read(KERNEL)).rejects.toMatchObject({ code: 'files_gone' })
})

test('without room, or where none is wanted, no log is kept', async () => {
  given(lines(0, 15_000))
  await expect(logs({ freeSpaceFloorBytes: 2 ** 60 }).keep(KERNEL, 'c')).rejects.toMatchObject({ code: 'disk_full' })
  await logs({ logMib: 0 }).keep(KERNEL, 'c')
  expect(await readdir(join(directory, 'logs'))).toEqual([])
})

test('a log goes after its retention, and after an hour where space is short', async () => {
  const [roomy, tight] = [logs(), logs({ freeSpaceFloorBytes: 2 ** 60 })]
  given(lines(0, 15_000))
  await roomy.keep(KERNEL, 'c')
  const ended = (agoMs: number) => {
    const at = new Date(Date.now() - agoMs)
    return utimes(join(directory, 'logs', KERNEL), at, at)
  }
  await tight.sweep(Date.now())
  await ended(24 * HOUR_MS)
  await roomy.sweep(Date.now())
  expect((await all()).parts).toBe(2)
  await ended(2 * HOUR_MS)
  await tight.sweep(Date.now())
  expect(await readdir(join(directory, 'logs'))).toEqual([])
  await roomy.keep(KERNEL, 'c')
  await ended(26 * HOUR_MS)
  await roomy.sweep(Date.now())
  expect(await readdir(join(directory, 'logs'))).toEqual([])
})
