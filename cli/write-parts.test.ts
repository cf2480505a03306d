import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { writeParts } from './write-parts.ts'

async function written(parts: readonly string[], isTTY?: boolean): Promise<string> {
  const to = Object.assign(new PassThrough(), isTTY === undefined ? {} : { isTTY })
  const read = text(to)
  await writeParts(parts, to)
  to.end()
  return await read
}

const HOSTILE = 'a\u001b]52;c;Y3VybA==\u0007\u001b]0;title\u0007\u001b[2Jb\u009b31mc\u202e\n'

test('a terminal gets no sequence that it would obey, but colours', async () => {
  expect(await written([HOSTILE, '\u001b[31mred\u001b[0m\n'], true)).toBe(
    'a�]52;c;Y3VybA==��]0;title��[2Jb�31mc�\n\u001b[31mred\u001b[0m\n',
  )
})

test('what one part begins and the next one ends is judged as a whole', async () => {
  expect(await written(['\u001b', '[3', '1mred\r', '\n', 'x\u001b', ']52;c;YQ==\u0007\r'], true)).toBe(
    '\u001b[31mred\r\nx�]52;c;YQ==��',
  )
})

test('a pipe or a file gets every byte', async () => {
  expect(await written([HOSTILE])).toBe(HOSTILE)
})
