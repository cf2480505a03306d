import { EventEmitter } from 'node:events'
import { beforeEach, expect, test, vi } from 'vitest'
import { electron, stub, StubEvent, StubWindow } from '../../../test/fixtures/electron-stub.ts'
import { watchSystemEnd } from './system-end.ts'

const end = vi.fn()
const signals = new EventEmitter()
const { powerMonitor } = electron as unknown as { powerMonitor: EventEmitter }
beforeEach(() => {
  end.mockClear()
  for (const emitter of [signals, powerMonitor, stub.app]) emitter.removeAllListeners()
})

test('signals, a shutdown and the end of a session of Windows end the app', () => {
  watchSystemEnd({ electron, process: signals, platform: 'linux', end })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) signals.emit(signal, signal)
  powerMonitor.emit('shutdown', new StubEvent())
  new StubWindow({}).emit('session-end')
  expect(end).toHaveBeenCalledTimes(5)
})

test.each([
  ['linux', true],
  ['darwin', false],
] as const)('on %s the shutdown of the computer waits for the app: %s', (platform, waits) => {
  watchSystemEnd({ electron, process: signals, platform, end })
  const event = new StubEvent()
  powerMonitor.emit('shutdown', event)
  expect(event.defaultPrevented).toBe(waits)
  expect(end).toHaveBeenCalledOnce()
})
