import { Readable } from 'node:stream'
import type { HttpReply } from '#manager/contract/light'
import { AppError, because } from '#manager/contract/light'

/** Longer than any answer of a manager that is read as a whole: a page of a list has at most a few megabytes. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * An answer for `createClient`, which reads it as a whole.
 *
 * Threat model: a hostile server may send an answer without an end, or a small one that unpacks to gigabytes. Reading stops at the limit.
 *
 * @param most limit in bytes after unpacking; `text` throws AppError `unavailable` beyond it
 */
export function replyOf({ status, headers, body }: Response, most = MOST_BYTES): HttpReply {
  return { status, headers, text: () => textUpTo(body ?? [], most) }
}

/** The same answer for callers that need more of a `Response`; the threat model is that of `replyOf`. */
export function boundedResponse(response: Response, most = MOST_BYTES): Response {
  const { status, statusText, headers, body } = response
  if (!body) return response
  const bounded = Readable.toWeb(Readable.from(chunksUpTo(body, most))) as ReadableStream
  return new Response(bounded, { status, statusText, headers })
}

/** UTF-8 text of a stream. @throws AppError `unavailable` if it is longer than `most` bytes; the stream ends then */
export async function textUpTo(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most = MOST_BYTES,
): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunksUpTo(chunks, most)) parts.push(chunk)
  return new TextDecoder().decode(Buffer.concat(parts))
}

/** The chunks of a stream. @throws AppError `unavailable` after `most` bytes; the stream ends then */
export async function* chunksUpTo<Chunk extends Uint8Array>(
  chunks: AsyncIterable<Chunk> | Iterable<Chunk>,
  most = MOST_BYTES,
): AsyncGenerator<Chunk, undefined> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > most) throw new AppError('unavailable', because('not_a_manager_there', { text: 'too long an answer' }))
    yield chunk
  }
}
