import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSseParser, type SseEvent } from './sse-parser.ts'

function parse(...chunks: string[]): SseEvent[] {
  const events: SseEvent[] = []
  const take = createSseParser(event => events.push(event))
  chunks.forEach(take)
  return events
}

describe('the parser of event streams', () => {
  test('it reads name, data and id, and ignores comments and unknown fields', () => {
    expect(parse(': hello\n\nid: 1.7\nevent: hint\nretry: 5\nfoo: bar\ndata: {"a":1}\n\n')).toEqual([
      { event: 'hint', data: '{"a":1}', id: '1.7' },
    ])
  })

  test('it joins several data lines and keeps the id for events without one', () => {
    expect(parse('id: 5\ndata: one\ndata: two\n\ndata:three\n\n')).toEqual([
      { event: 'message', data: 'one\ntwo', id: '5' },
      { event: 'message', data: 'three', id: '5' },
    ])
  })

  test('an event without data, or without its empty line, is not reported', () => {
    expect(parse('event: ping\n\n', 'data: half')).toEqual([])
  })

  test('it reads the same events however the text is cut, with any line ending', () => {
    const text = 'id: 1\r\nevent: hint\r\ndata: a\r\n\r\nevent: stats\rdata: b\r\rdata: c\n\n'
    const whole = parse(text)
    expect(whole.map(({ data }) => data)).toEqual(['a', 'b', 'c'])
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 12 }), cuts => {
        const points = [0, ...cuts.toSorted((a, b) => a - b), text.length]
        const chunks = points.slice(1).map((end, index) => text.slice(points[index], end))
        expect(parse(...chunks)).toEqual(whole)
      }),
    )
  })
})
