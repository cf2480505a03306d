import { expect, test } from 'vitest'
import { exitReason } from './exit-reason.ts'

const exit = { state: 'exited', containerId: 'c', exitCode: 3, oomKilled: false, engineRestarted: false } as const

test('a batch that fails after one of its programs was ended for want of memory says so', () => {
  expect(exitReason(exit, true)).toMatchObject({
    code: 'exited',
    message: expect.stringMatching(/ended with exit code 3\..*had used up its RAM/) as string,
  })
  expect(exitReason(exit, false).message).not.toContain('RAM')
  // The session continued without the program, and completed its work.
  expect(exitReason({ ...exit, exitCode: 0 }, true).message).not.toContain('RAM')
})

test('the main process itself, ended for want of memory, has a reason of its own', () => {
  expect(exitReason({ ...exit, exitCode: 137, oomKilled: true }, true).code).toBe('oom_killed')
})
