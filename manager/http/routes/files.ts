import { type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError } from '#manager/contract'
import { BufferPair, chunksOf, type Content, type Expected, readBody } from '../../files/content.ts'
import { type Files } from '../../files/service.ts'
import { type Handlers } from '../handlers.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import { parseRange } from './files/byte-range.ts'
import { attachment, shownType } from './files/content-type.ts'

type FileRoutes =
  | 'listFiles'
  | 'getFile'
  | 'searchFiles'
  | 'makeDirectory'
  | 'moveFiles'
  | 'copyFiles'
  | 'listCopies'
  | 'getCopy'
  | 'cancelCopy'
  | 'deleteFiles'
  | 'readFile'
  | 'writeFile'
  | 'archiveFiles'

/** The file is a user's, and may be a page made to attack its reader: a browser that shows it runs and loads nothing. */
const CONTENT_HEADERS = {
  ...SECURITY_HEADERS,
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'accept-ranges': 'bytes',
} as const

export function createFileRoutes(files: Files): Pick<Handlers, FileRoutes> {
  return {
    listFiles: ({ caller }, { params, query }) => files.list(caller, params.id, query),
    getFile: ({ caller }, { params, query }) => files.get(caller, params.id, query.path),
    searchFiles: ({ caller, signal }, { params, query }) => files.search(caller, params.id, query, signal),

    makeDirectory({ caller, request }, { params, body }) {
      tell(request, { path: body.path })
      return files.makeDirectory(caller, params.id, body)
    },
    moveFiles({ caller, request }, { params, body }) {
      tell(request, { ...toldPaths(body.paths), to: body.to, ...(body.name === undefined ? {} : { name: body.name }) })
      return files.move(caller, params.id, body)
    },
    copyFiles({ caller, request }, { params, body }) {
      tell(request, { ...toldPaths(body.paths), to: body.to })
      return files.copy(caller, params.id, body)
    },
    listCopies: async ({ caller }, { params }) => ({ items: await files.copies(caller, params.id) }),
    getCopy: ({ caller }, { params }) => files.getCopy(caller, params.id, params.taskId),
    cancelCopy: ({ caller }, { params }) => files.cancelCopy(caller, params.id, params.taskId),
    deleteFiles({ caller, request }, { params, body }) {
      tell(request, toldPaths(body.paths))
      return files.remove(caller, params.id, body)
    },

    async readFile({ caller, request, reply }, { params, query }) {
      await using content = await files.open(caller, params.id, query.path)
      await sendContent(content, { request, reply, download: query.download === true })
      return ''
    },

    writeFile({ caller, request }, { params, query }) {
      tell(request, { path: query.path })
      const read = async () => {
        const expected = expectedOf(request)
        return { expected, bytes: await readBody(request.body instanceof Readable ? request.body : Readable.from([])) }
      }
      return files.write(caller, params.id, { path: query.path, read })
    },

    async archiveFiles({ caller, request, reply, signal }, { params, query }) {
      await using archive = await files.archive(caller, params.id, query.path, signal)
      const headers = {
        ...CONTENT_HEADERS,
        'accept-ranges': 'none',
        'content-type': 'application/zip',
        'content-disposition': attachment(`${archive.name}.zip`),
      }
      await send(request, reply, { status: 200, headers, bytes: archive.bytes })
      return ''
    },
  }
}

async function sendContent(
  content: Content,
  { request, reply, download }: { request: FastifyRequest; reply: FastifyReply; download: boolean },
): Promise<void> {
  const { name, state, file } = content
  const type = shownType(name)
  const headers = {
    ...CONTENT_HEADERS,
    etag: state.etag,
    'last-modified': state.modifiedAt.toUTCString(),
    'content-type': download ? 'application/octet-stream' : type,
    'content-disposition': download || type === 'application/octet-stream' ? attachment(name) : 'inline',
  }
  if (namesEtag(request.headers['if-none-match'], state.etag)) {
    await send(request, reply, { status: 304, headers })
    return
  }
  const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === state.etag
  const range = isSame ? parseRange(request.headers.range, state.size) : undefined
  if (range === 'outside') {
    void reply.header('content-range', `bytes */${state.size}`)
    throw new AppError('range_invalid', { size: state.size, why: `The file has ${state.size} bytes.` })
  }
  const { start, end } = range ?? { start: 0, end: state.size }
  await send(request, reply, {
    status: range ? 206 : 200,
    headers: {
      ...headers,
      'content-length': String(end - start),
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${state.size}` } : {}),
    },
    bytes: chunksOf(file, start, end, new BufferPair()),
  })
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes?: AsyncGenerator<Uint8Array, void, undefined>
}

/** Sends bytes as they are read. A failure after the headers cuts the connection, so that nobody takes the file for whole. */
async function send(request: FastifyRequest, reply: FastifyReply, { status, headers, bytes }: Answer): Promise<void> {
  const isWanted = bytes !== undefined && request.method !== 'HEAD'
  // Read the first piece before the headers go out: a failure up to here is answered as any other.
  const first = isWanted ? await bytes.next() : undefined
  reply.hijack()
  const { raw } = reply
  raw.writeHead(status, { ...headers, 'x-request-id': request.id })
  if (!isWanted || first === undefined) {
    raw.end()
    return
  }
  try {
    let written = Promise.resolve()
    for (let next = first; !next.done; next = await bytes.next()) {
      await written
      written = write(raw, next.value)
      written.catch(() => undefined) // awaited before the next piece
    }
    await written
    raw.end()
  } catch {
    raw.destroy() // the client went away, or sees that the file is cut off
  } finally {
    await bytes.return()
  }
}

/** Resolves when the system has taken the bytes. @throws if the connection is closed */
function write(raw: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    raw.write(bytes, error => (error ? reject(error) : resolve()))
  })
}

/** @throws AppError `bad_request` */
function expectedOf({ headers }: { headers: IncomingMessage['headers'] }): Expected {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match !== undefined && noneMatch === undefined) return { etag: match }
  if (noneMatch === '*' && match === undefined) return 'absent'
  const why = 'Send "If-Match" with the ETag of the file to replace it, or "If-None-Match: *" to make a new file.'
  throw new AppError('bad_request', { why })
}

/** @see RFC 9110 section 13.1.2 */
function namesEtag(header: string | undefined, etag: string): boolean {
  return (
    header !== undefined && (header === '*' || header.split(',').some(one => one.trim().replace(/^W\//, '') === etag))
  )
}

function tell(request: FastifyRequest, told: Readonly<Record<string, string | number>>): void {
  request.outcome = { ...request.outcome, told }
}

const MOST_TOLD = 300

const toldPaths = (paths: readonly string[]) => ({
  count: paths.length,
  path: (paths[0] ?? '').slice(0, MOST_TOLD),
})
