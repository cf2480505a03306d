import { describe, expect, test } from 'vitest'
import { type SessionEvent } from '#manager/contract'
import { highlight, logLines } from '../../data/logs/log-text.ts'
import { amountText } from '../../ui/slot-text.ts'
import { shortDuration, timelineRows } from './timeline.ts'

const START = Date.parse('2026-11-20T10:00:00.000Z')
const event = (ms: number, to: SessionEvent['to'], kernelId: string | null = null): SessionEvent => ({
  id: ms,
  at: new Date(START + ms).toISOString(),
  kernelId: kernelId as SessionEvent['kernelId'],
  from: null,
  to,
  reason: { code: 'requested', message: '' },
  actor: null,
})

describe('the timeline', () => {
  test('a status lasts until the next one, the current one until now, a final one has no duration', () => {
    const events = [event(0, 'PENDING'), event(2000, 'PREPARING'), event(6000, 'RUNNING')]
    const rows = timelineRows(events, new Date(START + 66_000))
    expect(rows.map(row => row.durationMs)).toEqual([2000, 4000, 60_000])
    expect(rows.map(row => row.ongoing)).toEqual([false, false, true])
    const ended = timelineRows([...events, event(70_000, 'TERMINATED')], new Date(START + 900_000))
    expect(ended.at(-1)).toMatchObject({ durationMs: null, ongoing: false })
  })
  test('bars compare the waits, which a long run does not flatten', () => {
    const events = [event(0, 'PENDING'), event(2000, 'PREPARING'), event(6000, 'RUNNING'), event(9e6, 'TERMINATING')]
    expect(timelineRows(events, new Date(START + 9e6 + 1000)).map(row => row.share)).toEqual([0.5, 1, null, 0.25])
  })
  test('transitions are counted by the session or by its kernels, none of them twice', () => {
    const rows = timelineRows(
      [
        event(0, 'PENDING'),
        event(1, 'PREPARING', 'k1'),
        event(2, 'PREPARING'),
        event(3, 'RUNNING', 'k1'),
        event(4, 'TERMINATING', 'k1'),
        event(5, 'TERMINATED'),
      ],
      new Date(START),
    )
    expect(rows.map(row => row.event.id)).toEqual([0, 1, 3, 4, 5])
  })
  test('an announced interruption has a row, and so have its being called off, the end of a program and a warning', () => {
    const announced = (
      ms: number,
      code: 'interruption_announced' | 'interruption_called_off' | 'memory_killed' | 'gpu_warned',
    ) => ({
      ...event(ms, 'RUNNING'),
      reason: { code, message: '' },
    })
    const events = [
      event(0, 'RUNNING'),
      announced(1, 'interruption_announced'),
      announced(2, 'interruption_called_off'),
      announced(3, 'memory_killed'),
      announced(4, 'gpu_warned'),
    ]
    expect(timelineRows(events, new Date(START)).map(row => row.event.id)).toEqual([0, 1, 2, 3, 4])
  })
  test('short times are shown in milliseconds and tenths', () => {
    expect([40, 900.4, 1234, 9999].map(shortDuration)).toEqual(['40 ms', '900 ms', '1.2 s', '10.0 s'])
    expect(shortDuration(10_000)).toBeUndefined()
  })
})

describe('the log', () => {
  test('colours, titles and cursor moves are removed, and a progress bar shows its last state', () => {
    expect(logLines('\u001b[32mok\u001b[0m\n\u001b]0;title\u0007text\r\n10 %\r50 %\r100 %\n')).toEqual([
      'ok',
      'text',
      '100 %',
    ])
    expect(logLines('')).toEqual([])
    expect(logLines('no end of line')).toEqual(['no end of line'])
  })
  test('matches are found in any letter case, and nothing of the line is lost', () => {
    expect(highlight('Epoch 1, epoch 2', 'EPOCH')).toEqual([
      { text: 'Epoch', match: true },
      { text: ' 1, ', match: false },
      { text: 'epoch', match: true },
      { text: ' 2', match: false },
    ])
    expect(highlight('', 'x')).toEqual([{ text: '', match: false }])
    expect(
      highlight('İstanbul x', 'x')
        .map(part => part.text)
        .join(''),
    ).toBe('İstanbul x')
  })

  test('marks so few places of a long line that a browser can show them, and keeps its text', () => {
    const line = 'ab'.repeat(500_000)
    const parts = highlight(line, 'a')
    expect(parts.length).toBeLessThan(3_000)
    expect(parts.slice(0, 2)).toEqual([
      { text: 'a', match: true },
      { text: 'b', match: false },
    ])
    expect(parts.map(({ text }) => text).join('')).toBe(line)
  })
})

test('amounts of memory are shown as sizes, others as they were requested', () => {
  expect(amountText('mem', '4294967296')).toBe('4 GiB')
  expect(amountText('cuda.shares', '0.5')).toBe('0.5')
})
