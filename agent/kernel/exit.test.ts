import { expect, test } from 'vitest'
import { bootTime, type Exit, wasTakenByEngine } from './exit.ts'

const exit = (changes: Partial<Exit>): Exit => ({
  exitCode: 0,
  startedAt: '2026-01-01T00:00:00Z',
  endedWhileEngineWasAway: false,
  ranUnderEngine: false,
  bootedAtSeconds: Date.parse('2025-12-31T00:00:00Z') / 1000,
  ...changes,
})
const rebooted = Date.parse('2026-01-02T00:00:00Z') / 1000

test.each([
  ['a clean end', exit({}), false],
  ['a crash', exit({ exitCode: 1 }), false],
  ['a kill while the engine was there', exit({ exitCode: 137 }), false],
  ['a kill together with the engine', exit({ exitCode: 137, endedWhileEngineWasAway: true }), true],
  ['an end of its own while the engine was away', exit({ exitCode: 3, endedWhileEngineWasAway: true }), false],
  ['a process that the new engine did not find', exit({ exitCode: 255 }), true],
  [
    'an exit code that means it otherwise, under an engine that was there',
    exit({ exitCode: 255, ranUnderEngine: true }),
    false,
  ],
  ['a kill before the machine booted', exit({ exitCode: 137, bootedAtSeconds: rebooted }), true],
  ['a clean end before the machine booted', exit({ bootedAtSeconds: rebooted }), false],
])('%s', (_what, how, taken) => expect(wasTakenByEngine(how)).toBe(taken))

test('the boot time is read from /proc/stat', () => {
  expect(bootTime('cpu 1 2\nctxt 3\nbtime 1767225600\nprocesses 4\n')).toBe(1_767_225_600)
  expect(bootTime('')).toBeUndefined()
})
