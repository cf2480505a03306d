import { PassThrough } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { readBody } from './content.ts'

afterEach(() => vi.useRealTimers())

test('a body is read however slowly it arrives, and given up when no byte arrives for a minute', async () => {
  vi.useFakeTimers()
  const body = new PassThrough()
  const read = readBody(body, new AbortController().signal)
  const stalled = expect(read).rejects.toMatchObject({ code: 'upload_stalled' })
  for (let count = 0; count < 4; count++) {
    body.write('x')
    await vi.advanceTimersByTimeAsync(50_000)
    expect(body.destroyed).toBe(false)
  }
  await vi.advanceTimersByTimeAsync(60_000)
  await stalled
})

test('a body is cut with the reason of the signal', async () => {
  const cut = new AbortController()
  const read = readBody(new PassThrough(), cut.signal)
  cut.abort(new AppError('forbidden'))
  await expect(read).rejects.toMatchObject({ code: 'forbidden' })
})
