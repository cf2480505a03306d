import { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** Closes a stream of the engine early; the declared type has no `destroy`, but the streams do. */
export function endStream(stream: NodeJS.ReadableStream): void {
  if (stream instanceof Readable) stream.destroy()
}

/**
 * Lines of an engine stream (events, pulls, stats: one JSON object each). We do not use node:readline: it turns a broken
 * connection into an extra `error` event that is not handled.
 *
 * @throws the error with which the stream ends; an unterminated last line is yielded before
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
