import { type ServerResponse } from 'node:http'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, because } from '#manager/contract'
import { BufferPair, chunksOf, type SentContent, type Watched } from '../../../files/content.ts'
import { type HeavyRequest } from '../../../files/heavy-work.ts'
import { type Archive } from '../../../files/downloads.ts'
import { namesEtag } from '#base/http-fields'
import { SECURITY_HEADERS } from '../../security-headers.ts'
import { parseRange } from './byte-range.ts'
import { attachment, shownType } from './content-type.ts'

/** The file belongs to a user and may be a page that attacks its reader, so browsers must not run or load anything in it. */
export const CONTENT_HEADERS = {
  ...SECURITY_HEADERS,
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'accept-ranges': 'bytes',
} as const

/** Sends a file, or the requested range of it. @throws AppError `range_invalid` */
export async function sendContent(
  content: SentContent,
  { request, reply, download }: { request: FastifyRequest; reply: FastifyReply; download: boolean },
): Promise<void> {
  const { name, state, file, heavy, watch } = content
  const type = shownType(name)
  const headers = {
    ...CONTENT_HEADERS,
    etag: state.etag,
    'last-modified': state.modifiedAt.toUTCString(),
    'content-type': download ? 'application/octet-stream' : type,
    'content-disposition': download || type === 'application/octet-stream' ? attachment(name) : 'inline',
  }
  if (namesEtag(request.headers['if-none-match'], state.etag)) {
    await sendBytes(request, reply, { status: 304, headers })
    return
  }
  const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === state.etag
  const range = isSame ? parseRange(request.headers.range, state.size) : undefined
  if (range === 'outside') {
    void reply.header('content-range', `bytes */${state.size}`)
    throw new AppError('range_invalid', { size: state.size, ...because('file_has_bytes', { bytes: state.size }) })
  }
  const { start, end } = range ?? { start: 0, end: state.size }
  await sendBytes(request, reply, {
    status: range ? 206 : 200,
    headers: {
      ...headers,
      'content-length': String(end - start),
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${state.size}` } : {}),
    },
    bytes: chunksOf(file, start, end, new BufferPair()),
    heavy,
    watch,
  })
}

/** Sends a ZIP file, which is created while it is sent. */
export async function sendArchive(
  archive: Archive,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<void> {
  const headers = {
    ...CONTENT_HEADERS,
    'accept-ranges': 'none',
    'content-type': 'application/zip',
    'content-disposition': attachment(`${archive.name}.zip`),
  }
  const { bytes, heavy, watch } = archive
  await sendBytes(request, reply, { status: 200, headers, bytes, heavy, watch })
}

type Answer = AnswerHead & (Partial<Record<keyof AnswerBytes, never>> | AnswerBytes)
interface AnswerHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}
interface AnswerBytes extends Watched {
  readonly bytes: AsyncGenerator<Uint8Array, void, undefined>
  readonly heavy: Pick<HeavyRequest, 'turn'>
}

/**
 * Sends bytes as they are read, for as long as the caller has the right to read them. A failure after the headers cuts the connection, so
 * that nobody takes the file for complete.
 */
export async function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, bytes, heavy, watch }: Answer,
): Promise<void> {
  const { raw } = reply
  if (bytes === undefined || request.method === 'HEAD') {
    await bytes?.return()
    reply.hijack()
    raw.writeHead(status, { ...headers, 'x-request-id': request.id }).end()
    return
  }
  const cut = new AbortController()
  using _watched = watch(refusal => {
    cut.abort(refusal)
    if (raw.headersSent) raw.destroy()
  })
  try {
    // Read the first piece before sending the headers, so that a failure up to here gets a normal error answer.
    const first = await bytes.next()
    cut.signal.throwIfAborted()
    reply.hijack()
    await send(raw, { status, headers: { ...headers, 'x-request-id': request.id } }, { first, bytes, heavy })
  } finally {
    await bytes.return()
  }
}

async function send(
  raw: ServerResponse,
  { status, headers }: AnswerHead,
  { first, bytes, heavy }: Omit<AnswerBytes, 'watch'> & { readonly first: IteratorResult<Uint8Array, void> },
): Promise<void> {
  try {
    raw.writeHead(status, headers)
    let written = Promise.resolve()
    for (let next = first; !next.done; next = await bytes.next()) {
      await written
      await heavy.turn()
      written = write(raw, next.value)
      written.catch(() => undefined) // awaited before the next piece
    }
    await written
    raw.end()
  } catch {
    raw.destroy() // the client disconnected, or sees that the file is cut off
  }
}

/** Resolves when the system has accepted the bytes. @throws if the connection is closed */
function write(raw: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    // The callback of a write to a closed response may never come.
    const onClose = () => reject(new Error('the connection is closed'))
    if (raw.closed) {
      onClose()
      return
    }
    raw.once('close', onClose)
    raw.write(bytes, error => {
      raw.off('close', onClose)
      if (error) reject(error)
      else resolve()
    })
  })
}
