import { expect, test } from 'vitest'
import { demultiplex, tailBytes, tailOfJson } from './log-frames.ts'

function frame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([header, Buffer.from(text)])
}

test('both streams of a log keep the order in which they were written', () => {
  const log = Buffer.concat([frame(1, 'one\n'), frame(2, 'two\n'), frame(1, 'three\n')])
  expect(demultiplex(log).toString()).toBe('one\ntwo\nthree\n')
})

test('a cut frame is kept as far as it goes', () => {
  expect(demultiplex(frame(1, 'complete').subarray(0, 12)).toString()).toBe('comp')
  expect(demultiplex(Buffer.from([1, 0, 0])).toString()).toBe('')
})

test('a text of control characters is cut to what it takes as JSON', () => {
  const whole = { text: `${'\0'.repeat(999)}\n`.repeat(100), truncated: false }
  const cut = tailOfJson(whole, 100_000)
  expect(cut.truncated).toBe(true)
  expect(JSON.stringify(cut.text).length).toBeLessThanOrEqual(125_000)
  expect(cut.text.length).toBeGreaterThan(10_000)
  const usual = { text: `${'x'.repeat(99)}\n`.repeat(1_000), truncated: false }
  expect(tailOfJson(usual, 100_000)).toBe(usual)
})

test('a tail starts at the beginning of a line and mentions that earlier lines are missing', () => {
  expect(tailBytes(Buffer.from('first\nsecond\nthird\n'), 10)).toEqual({ text: 'third\n', truncated: true })
  expect(tailBytes(Buffer.from('short'), 10)).toEqual({ text: 'short', truncated: false })
  expect(tailBytes(Buffer.from('abcdefghij'), 4)).toEqual({ text: 'ghij', truncated: true })
})
