import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { printable } from './output.ts'

/** The end of a part that may begin a colour or an end of line: the rest of it comes with the next part. */
const BEGUN = /(?:\u001b(?:\[[\d;]{0,64})?|\r{1,64})$/

async function* printableParts(parts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let begun = ''
  for await (const part of parts) {
    const text = begun + part
    const [end = ''] = BEGUN.exec(text.slice(-LONGEST_BEGUN)) ?? []
    begun = end
    yield printable(text.slice(0, text.length - end.length))
  }
  yield printable(begun)
}

const LONGEST_BEGUN = 66

/**
 * Writes long text of containers or other people, part by part: every byte into pipes and files; a terminal gets no control sequences, which
 * it would obey (`printable`).
 */
export async function writeParts(
  parts: AsyncIterable<string> | Iterable<string>,
  to: NodeJS.WritableStream & { readonly isTTY?: boolean } = process.stdout,
): Promise<void> {
  await pipeline(Readable.from(to.isTTY === true ? printableParts(parts) : parts), to, { end: false })
}
