import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readLines } from './lines.ts'

async function collect(stream: Readable): Promise<string[]> {
  const lines: string[] = []
  for await (const line of readLines(stream)) lines.push(line)
  return lines
}

test('lines are whole, wherever the chunks end', async () => {
  const bytes = Buffer.from('{"a":"ü"}\n\n{"b":2}\r\n{"c"')
  const chunks = [...bytes].map(byte => Buffer.from([byte]))
  expect(await collect(Readable.from(chunks))).toEqual(['{"a":"ü"}', '{"b":2}\r', '{"c"'])
})

test('a broken connection throws at its reader', async () => {
  const stream = new Readable({ read: () => undefined })
  const collected = collect(stream)
  stream.destroy(new Error('aborted'))
  await expect(collected).rejects.toThrow('aborted')
})
