import { expect, test } from 'vitest'
import { emptyLogText } from './empty-log.ts'
import { type Session } from '../sessions/sessions.ts'

const at = '2026-11-20T10:00:00.000Z'
const base = {
  startupCommand: null,
  status: 'RUNNING',
  reason: { code: 'started', message: 'Started.' },
  startedAt: at,
}
const ofSession = (changes: Partial<Session>) => emptyLogText({ ...(base as Session), ...changes })
const ended = (message: string) => ({ status: 'TERMINATED', reason: { code: 'exited', message } }) as const

test('an empty log names the command that ran', () => {
  expect(ofSession({})).toContain('no start-up command')
  expect(ofSession({})).toContain('ENTRYPOINT, CMD')
  expect(ofSession({ runImageCommand: true })).toBe('The program of the image has written nothing.')
  expect(ofSession({ startupCommand: 'make all' })).toBe('The start-up command has written nothing: make all.')
})

test('an empty log says how the session ended', () => {
  const died = ended('Its main program ended with exit code 3.')
  expect(ofSession({ startupCommand: 'exit 3', ...died })).toBe(
    'The start-up command has written nothing: exit 3. Its main program ended with exit code 3.',
  )
  expect(ofSession(ended('Ended by the owner.'))).toMatch(/not in this log\. Ended by the owner\.$/)
})

test('a session that never ran has no command to name', () => {
  const why = { code: 'user_terminated', message: 'Ended by the owner.' } as const
  expect(ofSession({ status: 'PENDING', startedAt: null })).toBe('The session has not started yet.')
  expect(ofSession({ status: 'CANCELLED', startedAt: null, startupCommand: 'make', reason: why })).toBe(
    'The session never ran. Ended by the owner.',
  )
})
