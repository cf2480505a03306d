import { Readable } from 'node:stream'
import { namesEtag } from '#base/http-fields'
import { AppError, because } from '#manager/contract'
import { type ExpectedFile, type SessionFiles } from '../../session-files/session-files.ts'
import { type Handlers } from '../handlers.ts'
import { parseRange } from './files/byte-range.ts'
import { attachment, shownType } from './files/content-type.ts'
import { CONTENT_HEADERS, sendBytes } from './files/send-content.ts'

type SessionFileRoutes = 'listSessionFiles' | 'readSessionFile' | 'writeSessionFile'

/** Longest path in the audit log. */
const MOST_TOLD = 300
/** The script ends with the sign-in and the right of its caller (`session-files.ts`), and with it the answer. */
const BY_SCRIPT = { heavy: { turn: () => Promise.resolve() }, watch: () => ({ [Symbol.dispose]: () => undefined }) }

export function createSessionFileRoutes(files: SessionFiles): Pick<Handlers, SessionFileRoutes> {
  return {
    listSessionFiles: ({ caller, signal }, { params, query }) => files.list(caller, params.id, query, signal),

    async readSessionFile({ caller, request, reply, signal }, { params, query: { path } }) {
      const file = await files.open(caller, params.id, path, signal)
      const name = path.split('/').at(-1) ?? ''
      const type = shownType(name)
      const headers = {
        ...CONTENT_HEADERS,
        etag: file.etag,
        'last-modified': file.modifiedAt.toUTCString(),
        'content-type': type,
        'content-disposition': type === 'application/octet-stream' ? attachment(name) : 'inline',
      }
      if (namesEtag(request.headers['if-none-match'], file.etag)) {
        await sendBytes(request, reply, { status: 304, headers })
        return ''
      }
      const { 'if-range': ifRange, range: wanted } = request.headers
      const isSame = ifRange === undefined || ifRange === file.etag
      const range = isSame ? parseRange(wanted, file.size) : undefined
      if (range === 'outside') {
        void reply.header('content-range', `bytes */${file.size}`)
        throw new AppError('range_invalid', { size: file.size, ...because('file_has_bytes', { bytes: file.size }) })
      }
      const { start, end } = range ?? { start: 0, end: file.size }
      const sent = {
        ...headers,
        'content-length': String(end - start),
        ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${file.size}` } : {}),
      }
      const status = range ? 206 : 200
      const bytes = file.read({ start, end })
      await sendBytes(request, reply, { status, headers: sent, bytes, ...BY_SCRIPT })
      return ''
    },

    async writeSessionFile({ caller, request, signal }, { params, query: { path } }) {
      request.outcome = { ...request.outcome, told: { path: path.slice(0, MOST_TOLD) } }
      const length = request.headers['content-length']
      if (length === undefined)
        throw new AppError('bad_request', { why: 'Send the size of the file as Content-Length.' })
      const body = request.body instanceof Readable ? request.body : Readable.from([])
      const file = {
        path,
        expected: expectedOf(request.headers),
        bytes: body as AsyncIterable<Uint8Array>,
        length: Number(length),
      }
      return await files.write(caller, params.id, file, signal)
    },
  }
}

/** @throws AppError `bad_request` */
function expectedOf(headers: Readonly<Record<string, string | string[] | undefined>>): ExpectedFile {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (typeof match === 'string' && noneMatch === undefined) return { etag: match }
  if (noneMatch === '*' && match === undefined) return 'absent'
  const why = 'Send "If-Match" with the ETag of the file to replace it, or "If-None-Match: *" to make a new file.'
  throw new AppError('bad_request', { why })
}
