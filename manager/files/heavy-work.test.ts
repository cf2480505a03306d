import { createHash, randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { createHeavyWork } from './heavy-work.ts'

/** Small ones are hashed here, large ones in the thread. */
test.each([0, 1000, 70_000, 1_500_000])('sums of %i bytes are those of the library', async size => {
  const bytes = randomBytes(size)
  using request = createHeavyWork().enter('ada')
  await using hash = request.sha256(size)
  let crc = 0
  for (let at = 0; at < size; at += 524_288) {
    const piece = Buffer.from(bytes.subarray(at, at + 524_288))
    const summed = await request.crc32(piece, crc)
    crc = summed.crc
    expect(summed.bytes).toEqual(bytes.subarray(at, at + 524_288))
    await hash.update(summed.bytes)
  }
  expect(crc).toBe(crc32(bytes))
  expect(await hash.digest()).toBe(createHash('sha256').update(bytes).digest('hex'))
})

test('checksums that are made at the same time do not mix', async () => {
  const work = createHeavyWork()
  const files = Array.from({ length: 6 }, () => randomBytes(200_000))
  const sums = await Promise.all(
    files.map(async (bytes, index) => {
      using request = work.enter(`user-${index % 2}`)
      await using hash = request.sha256(bytes.length)
      for (let at = 0; at < bytes.length; at += 70_000) await hash.update(Buffer.from(bytes.subarray(at, at + 70_000)))
      return await hash.digest()
    }),
  )
  expect(sums).toEqual(files.map(bytes => createHash('sha256').update(bytes).digest('hex')))
})

test('one user has so many requests at a time, others have their own, and an end makes room', () => {
  const work = createHeavyWork()
  const open = Array.from({ length: 48 }, () => work.enter('ada'))
  const refused: unknown = expect.objectContaining({ code: 'rate_limited' })
  expect(() => work.enter('ada')).toThrow(refused)
  work.enter('bob')[Symbol.dispose]()
  open[0]?.[Symbol.dispose]()
  open[0]?.[Symbol.dispose]()
  work.enter('ada')
  expect(() => work.enter('ada')).toThrow(refused)
})

test('a piece is sent at once, and the next one after a pause while another request is being answered', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const work = createHeavyWork()
    using request = work.enter('ada')
    const given = work.give()
    await request.turn()
    let isSent = false
    const second = request.turn().then(() => (isSent = true))
    await setImmediate()
    expect([vi.getTimerCount(), isSent]).toEqual([1, false])
    vi.runOnlyPendingTimers()
    await second
    given[Symbol.dispose]()
    vi.runOnlyPendingTimers()
    await request.turn()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
