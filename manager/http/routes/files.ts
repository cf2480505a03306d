import { type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { type FastifyRequest } from 'fastify'
import { defined } from '#base/defined'
import { AppError, BUNDLE_CONTENT } from '#manager/contract'
import { type Expected, readBody } from '../../files/content.ts'
import { type Files } from '../../files/service.ts'
import { type Clones } from '../../files/clone.ts'
import { type Imports } from '../../files/imports.ts'
import { type DownloadTickets } from '../../files/tickets.ts'
import { type Handlers } from '../handlers.ts'
import { CONTENT_HEADERS, sendArchive, sendBytes, sendContent } from './files/send-content.ts'

type FileRoutes =
  | 'listFiles'
  | 'getFile'
  | 'searchFiles'
  | 'makeDirectory'
  | 'moveFiles'
  | 'copyFiles'
  | 'importFiles'
  | 'listCopies'
  | 'getCopy'
  | 'cancelCopy'
  | 'deleteFiles'
  | 'readFile'
  | 'writeFile'
  | 'archiveFiles'
  | 'readBundle'
  | 'readChecksums'
  | 'createDownload'
  | 'cloneFolder'
  | 'downloadByTicket'

export function createFileRoutes(
  files: Files,
  { tickets, clones, imports }: { tickets: DownloadTickets; clones: Clones; imports: Imports },
): Pick<Handlers, FileRoutes> {
  return {
    listFiles: ({ caller }, { params, query }) => files.list(caller, params.id, query),
    getFile: ({ caller }, { params, query }) => files.get(caller, params.id, query.path),
    searchFiles: ({ caller, signal }, { params, query }) => files.search(caller, params.id, query, signal),

    makeDirectory({ caller, request }, { params, body }) {
      tell(request, { path: body.path })
      return files.makeDirectory(caller, params.id, body)
    },
    moveFiles({ caller, request }, { params, body }) {
      tell(request, { ...toldPaths(body.paths), to: body.to, ...defined({ name: body.name }) })
      return files.move(caller, params.id, body)
    },
    copyFiles({ caller, request }, { params, body }) {
      tell(request, { ...toldPaths(body.paths), to: body.to })
      return files.copy(caller, params.id, body)
    },
    importFiles({ caller, request }, { params, body }) {
      tell(request, { ...toldPaths(body.paths), from: body.from, mode: body.mode, to: body.to })
      return imports.bring(caller, params.id, body)
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
      const read = async (signal: AbortSignal) => {
        const expected = expectedOf(request)
        const body = request.body instanceof Readable ? request.body : Readable.from([])
        return { expected, bytes: await readBody(body, signal) }
      }
      return files.write(caller, params.id, { path: query.path, read })
    },

    async archiveFiles({ caller, request, reply, signal }, { params, query }) {
      await using archive = await files.archive(caller, params.id, query.path, signal)
      await sendArchive(archive, { request, reply })
      return ''
    },

    cloneFolder: ({ caller }, { params, body }) => clones.clone(caller, params.id, body),

    createDownload({ caller, request }, { params, body }) {
      tell(request, toldPaths(body.paths))
      return tickets.create(caller, params.id, body)
    },

    async downloadByTicket({ request, reply, signal }, { params }) {
      const { caller, folderId, paths } = await tickets.find(params.ticket)
      const [path = '', ...more] = paths
      const { kind, target } = await files.get(caller, folderId, path)
      if (more.length === 0 && (target?.kind ?? kind) !== 'directory') {
        await using content = await files.open(caller, folderId, path)
        await sendContent(content, { request, reply, download: true })
      } else {
        await using archive = await files.archive(caller, folderId, paths, signal)
        await sendArchive(archive, { request, reply })
      }
      return ''
    },

    async readBundle({ caller, request, reply, signal }, { params, body }) {
      using sending = files.bundle(caller, params.id, body.paths, signal)
      const headers = { ...CONTENT_HEADERS, 'accept-ranges': 'none', 'content-type': BUNDLE_CONTENT }
      await sendBytes(request, reply, { status: 200, headers, ...sending })
      return ''
    },

    async readChecksums({ caller, request, reply, signal }, { params, body }) {
      using sending = files.checksums(caller, params.id, body.paths, signal)
      const headers = { ...CONTENT_HEADERS, 'accept-ranges': 'none', 'content-type': 'application/jsonl' }
      await sendBytes(request, reply, { status: 200, headers, ...sending })
      return ''
    },
  }
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

function tell(request: FastifyRequest, told: Readonly<Record<string, string | number>>): void {
  request.outcome = { ...request.outcome, told }
}

const MOST_TOLD = 300

const toldPaths = (paths: readonly string[]) => ({
  count: paths.length,
  path: (paths[0] ?? '').slice(0, MOST_TOLD),
})
