import { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** Ends a stream of the engine before its end; its types know no `destroy`, the streams do. */
export function endStream(stream: NodeJS.ReadableStream): void {
  if (stream instanceof Readable) stream.destroy()
}

/**
 * Lines of a stream of the engine (events, pulls, stats: one JSON object each). Not node:readline, which turns the end of a broken
 * connection into an `error` event of its own that nobody awaits.
 *
 * @throws what the stream ends with; a last line without an end is yielded before
 */
export async function* readLines(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of stream) {
    rest += typeof chunk === 'string' ? chunk : decoder.write(chunk)
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield line
  }
  rest += decoder.end()
  if (rest.trim() !== '') yield rest
}
