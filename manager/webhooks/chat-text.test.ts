import { expect, test } from 'vitest'
import { WEBHOOK_EVENTS } from '#manager/contract'
import { chatText } from './chat-text.ts'

const session = { name: 'train-1', owner: 'ada@example.org', project: { id: '1', name: 'vision' } }

test('the end of a session names session, owner, project, exit code and reason', () => {
  expect(
    chatText({
      type: 'session.ended',
      data: { session, exitCode: 1, reason: { code: 'exited', message: 'It ended.' } },
    }),
  ).toBe('Session train-1 of ada@example.org, project vision, has ended with exit code 1. It ended.')
})

test('every event has a line of its own', () => {
  const data = { session, host: { name: 'gpu-1' }, reason: { message: 'Why.' }, waitingSince: '2026-01-31T12:00:00Z' }
  const lines = WEBHOOK_EVENTS.map(type => chatText({ type, data }))
  expect(new Set(lines).size).toBe(WEBHOOK_EVENTS.length)
  for (const line of lines) expect(line).not.toContain('This is a test')
})

test('words of programs cannot mention a person, and addresses stay as they are', () => {
  const message = '@ada, (@bob.c) and ops@example.org'
  const text = chatText({ type: 'session.ended', data: { session, reason: { message } } })
  expect(text).toContain('of ada@example.org,')
  expect(text).toContain('@\u200Bada, (@\u200Bbob.c) and ops@example.org')
})

test('words of programs cannot call a room together, hide a link, or be long', () => {
  const message = '<!channel> <https://evil.example|Click> @channel @here [a](https://evil.example)\n& more'
  const text = chatText({ type: 'session.ended', data: { session, reason: { message } } })
  expect(text).toContain('&lt;!channel&gt; &lt;https://evil.example|Click&gt; @\u200Bchannel @\u200Bhere [a]\u200B(')
  expect(text).toContain('&amp; more')
  expect(text).not.toMatch(/[<>\n]/)
  expect(chatText({ type: 'host.problem', data: { problem: 'x'.repeat(5000) } })).toHaveLength(1000)
})
