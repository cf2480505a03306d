import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { agrees, type Terminal } from './agrees.ts'
import { promptSecret } from './secret-input.ts'

/** A name as a hostile server sends it: it writes the clipboard, and hides what is before it. */
const NAME = 'lab\u001b]52;c;ZXZpbA==\u0007\u009b2J\u202e\rfine'

test.each([
  ['whether to go on', (terminal: Terminal) => agrees(`End session ${NAME}?`, '', terminal), 'y', true],
  ['for a secret', (terminal: Terminal) => promptSecret(`Password at ${NAME}: `, '', terminal), 'p', 'p'],
] as const)('a question %s gives the terminal no control sequences of a server', async (_, ask, typed, answer) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const stderr = new PassThrough()
  const asked = ask({ stdin, stderr } as unknown as Terminal)
  await once(stderr, 'readable')
  stdin.write(`${typed}\n`)
  expect(await asked).toBe(answer)
  stderr.end()
  expect(await text(stderr)).toContain('lab\ufffd]52;c;ZXZpbA==\ufffd\ufffd2J\ufffd\ufffdfine')
})
