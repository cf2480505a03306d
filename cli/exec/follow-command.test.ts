import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { AppError, type CommandResult, type CommandOutput, SessionId } from '#manager/contract'
import { type FollowedCommand, followCommand } from './follow-command.ts'

const command = {
  id: '01900000-0000-7000-8000-000000000001',
  sessionId: SessionId.parse('01900000-0000-7000-8000-000000000002'),
}
const ended = { ...command, reason: 'exited', exitCode: 4 } as unknown as CommandResult
const part = (offset: number, text: string, isLast = false): CommandOutput => ({
  offset,
  text: Buffer.from(text).toString('base64'),
  next: offset + text.length,
  ended: isLast,
})

/** @param answers of the reads of standard output, one after the other */
function followed(...answers: (CommandOutput | AppError)[]) {
  const offsets: unknown[] = []
  const notes: string[] = []
  const stdout = new PassThrough()
  const api: FollowedCommand['api'] = {
    readCommandOutput: ({ query }) => {
      if (query?.stream === 'stderr') return Promise.resolve(part(0, '', true))
      offsets.push(query?.offset)
      const answer = answers.shift()
      if (!answer || answer instanceof AppError) return Promise.reject(answer ?? new Error('no answer left'))
      return Promise.resolve(answer)
    },
    getCommand: () => Promise.resolve(ended),
  }
  const { signal } = new AbortController()
  const streams = { stdout, stderr: new PassThrough() }
  const result = followCommand({ api, command, ...streams, signal, output: { note: text => notes.push(text) } })
  return { result, offsets, notes, text: () => String(stdout.read() ?? '') }
}

test('output goes on where it was when the connection is back, and a gap is told', async () => {
  const gone = new AppError('unavailable', { why: 'gone' })
  const { result, offsets, notes, text } = followed(part(0, 'abc'), gone, part(3, 'd'), part(10, 'z', true))
  expect(await result).toBe(ended)
  expect(text()).toBe('abcdz')
  expect(offsets).toEqual([0, 3, 3, 4])
  expect(notes.join('\n')).toMatch(/trying again[^]*6 bytes of stdout are missing/)
})

test('a session that has ended is not waited for', async () => {
  const { result } = followed(part(0, 'abc'), new AppError('session_not_running'))
  await expect(result).rejects.toMatchObject({ code: 'session_not_running' })
})
