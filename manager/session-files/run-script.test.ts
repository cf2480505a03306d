import { PassThrough } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { COMMAND_FRAME, createCommandFrameReader } from '#manager/contract'
import { sendInput } from './run-script.ts'

afterEach(() => void vi.useRealTimers())

/** Reads the frames on a wire: bytes of the input, and whether it has ended. */
function readInput(wire: PassThrough) {
  const seen = { bytes: 0, ended: false }
  const read = createCommandFrameReader((kind, part) => {
    if (kind === COMMAND_FRAME.stdin) seen.bytes += part.length
    if (kind === COMMAND_FRAME.stdinEnd) seen.ended = true
  })
  wire.on('data', (chunk: Buffer) => read(chunk))
  return seen
}

test('input that stalls is ended, and then cut: a slow one is not', async () => {
  vi.useFakeTimers()
  const wire = new PassThrough()
  const seen = readInput(wire)
  const source = new PassThrough()
  const onStall = vi.fn<() => void>()
  void sendInput(wire, source, { gone: new AbortController().signal, onStall })
  for (let minute = 0; minute < 5; minute++) {
    source.write('x')
    await vi.advanceTimersByTimeAsync(50_000)
  }
  expect(seen).toEqual({ bytes: 5, ended: false })
  await vi.advanceTimersByTimeAsync(11_000)
  expect(onStall).toHaveBeenCalledOnce()
  expect(seen.ended).toBe(true)
  expect(wire.destroyed).toBe(false)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(wire.destroyed).toBe(true)
})

test('input whose client has left is ended at once, so that its script cleans up, and then cut', async () => {
  vi.useFakeTimers()
  const wire = new PassThrough()
  const seen = readInput(wire)
  const gone = new AbortController()
  void sendInput(wire, new PassThrough(), { gone: gone.signal, onStall: () => expect.unreachable() })
  gone.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect([seen.ended, wire.destroyed]).toEqual([true, false])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(wire.destroyed).toBe(true)
  await vi.advanceTimersByTimeAsync(120_000)
})
