import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createClient } from '#manager/contract'
import { type Interrupt, Interrupted, lastAnswer, listenForInterrupt } from './interrupt.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A server that never answers; a request to it ends by its signal. */
const silent = createClient({
  baseUrl: '',
  fetch: (_url, { signal }) =>
    new Promise((_, reject) => {
      const given = signal as AbortSignal | undefined
      given?.addEventListener('abort', () => reject(given.reason as Error))
    }),
  wait: () => Promise.resolve(),
  defaultSignal: lastAnswer,
})

/** Delivers the signal to this process's own listener only. */
function interrupt({ signal }: Interrupt): void {
  process.listeners('SIGTERM').at(-1)?.('SIGTERM')
  expect(signal.aborted).toBe(true)
}

test('a silent server does not hold an interrupted command: a question ends soon, what the server is told a little later; each has its time', async () => {
  using listening = listenForInterrupt()
  const ends: string[] = []
  const asked = silent.me().catch((error: unknown) => ends.push(error instanceof Interrupted ? 'asked' : String(error)))
  const told = silent
    .deleteSession({ params: { id: 'x' } })
    .catch((error: unknown) => ends.push(error instanceof Interrupted ? 'told' : String(error)))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ends).toEqual([])
  interrupt(listening)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(ends).toEqual(['asked'])
  await vi.advanceTimersByTimeAsync(4_000)
  await Promise.all([asked, told])
  expect(ends).toEqual(['asked', 'told'])
  const later = expect(silent.me()).rejects.toThrow(Interrupted)
  await vi.advanceTimersByTimeAsync(999)
  expect(lastAnswer('GET')?.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await later
  process.removeAllListeners('SIGTERM').removeAllListeners('SIGINT')
})

test('without a listener no request has a limit, because the signal itself ends the process', () => {
  {
    using _ = listenForInterrupt()
    expect(lastAnswer('GET')?.aborted).toBe(false)
  }
  expect(lastAnswer('GET')).toBeUndefined()
})
