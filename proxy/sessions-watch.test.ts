import { expect, test } from 'vitest'
import { parseEvents } from './sessions-watch.ts'

test('events are read however they are cut, with any line end, and comments are skipped', async () => {
  const text = ': hello\n\nevent: hint\r\ndata: {"a":1}\r\n\r\ndata: x\ndata: y\n\nevent: ping\n\n'
  const cut = async function* () {
    for (const character of text) yield await Promise.resolve(character)
  }
  const events = []
  for await (const event of parseEvents(cut())) events.push(event)
  expect(events).toEqual([
    { name: 'hint', data: '{"a":1}' },
    { name: 'message', data: 'x\ny' },
  ])
})
