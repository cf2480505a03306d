import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type CommandSignal } from '#manager/contract'
import { passSignals } from './pass-signals.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Delivers a signal to the newest listener of this process, which is that of the test. */
const press = (name: NodeJS.Signals) => process.listeners(name).at(-1)?.(name)

test('signals are passed on, the third one kills, and if nobody answers that, the program ends by itself', async () => {
  const sent: CommandSignal[] = []
  const listening = process.listenerCount('SIGTERM')
  {
    using passed = passSignals(name => sent.push(name))
    const end = vi.fn<(how: unknown) => void>()
    void passed.unheard.then(end)
    press('SIGTERM')
    press('SIGTERM') // the copy from `bin/berth`
    await vi.advanceTimersByTimeAsync(60_000)
    press('SIGINT')
    await vi.advanceTimersByTimeAsync(60_000)
    expect([sent, end.mock.calls]).toEqual([['TERM', 'INT'], []])
    press('SIGTERM')
    expect(sent).toEqual(['TERM', 'INT', 'KILL'])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(end).toHaveBeenCalledWith({ reason: 'killed', exitCode: null })
  }
  expect(process.listenerCount('SIGTERM')).toBe(listening)
})
