import { Readable } from 'node:stream'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, because, TUS_EXTENSIONS, TUS_VERSION, type Upload, UPLOADED_PATH_HEADER } from '#manager/contract'
import { readCount, readMetadata } from '../../uploads/read-metadata.ts'
import { type Bundles } from '../../uploads/bundles.ts'
import { type Uploads } from '../../uploads/uploads.ts'
import { type Handlers } from '../handlers.ts'

type UploadRoutes =
  | 'describeUploads'
  | 'listUploads'
  | 'createUpload'
  | 'readUpload'
  | 'continueUpload'
  | 'finishUpload'
  | 'cancelUpload'
  | 'uploadBundle'

/** The tus protocol, https://tus.io/protocols/resumable-upload, as far as `TUS_EXTENSIONS` says, and bundles of small files. */
export function createUploadRoutes(uploads: Uploads, bundles: Bundles): Pick<Handlers, UploadRoutes> {
  return {
    async describeUploads({ caller, reply }, { params }) {
      await uploads.requireWritable(caller, params.id)
      void reply.headers({ ...RESUMABLE, 'tus-version': TUS_VERSION, 'tus-extension': TUS_EXTENSIONS })
    },
    listUploads: async ({ caller }, { params, query }) => ({
      items: await (query.others === true ? uploads.listOthers(caller, params.id) : uploads.list(caller, params.id)),
    }),

    async createUpload({ caller, request, reply }, { params }) {
      requireVersion(request, reply)
      requireWhole(request)
      const upload = await uploads.create(caller, params.id, {
        ...readMetadata(request.headers['upload-metadata']?.toString()),
        size: readCount('Upload-Length', request.headers['upload-length']),
        body: bodyOf(request),
      })
      void reply.header('location', `/api/v1/folders/${upload.folderId}/uploads/${upload.id}`)
      tellProgress(reply, upload)
      return upload
    },

    async readUpload({ caller, request, reply }, { params }) {
      requireVersion(request, reply)
      const upload = await uploads.read(caller, { folderId: params.id, id: params.uploadId })
      void reply.header('upload-length', String(upload.size))
      tellProgress(reply, upload)
    },

    async continueUpload({ caller, request, reply }, { params }) {
      requireVersion(request, reply)
      const offset = readCount('Upload-Offset', request.headers['upload-offset'])
      const body = bodyOf(request) ?? Readable.from([])
      const upload = await uploads.append(caller, { folderId: params.id, id: params.uploadId }, { offset, body })
      tellProgress(reply, upload)
    },

    async uploadBundle({ caller, request }, { params }) {
      const { items } = await bundles.receive(caller, params.id, bodyOf(request) ?? Readable.from([]))
      request.outcome = {
        ...request.outcome,
        told: { count: items.length, path: (items[0]?.path ?? '').slice(0, MOST_TOLD) },
      }
      return { items }
    },

    finishUpload: ({ caller }, { params, body }) =>
      uploads.finish(caller, { folderId: params.id, id: params.uploadId }, body),
    cancelUpload: ({ caller, reply }, { params }) => {
      void reply.headers(RESUMABLE)
      return uploads.cancel(caller, { folderId: params.id, id: params.uploadId })
    },
  }
}

const MOST_TOLD = 300
const RESUMABLE = { 'tus-resumable': TUS_VERSION }

/** @throws AppError `upload_version` */
function requireVersion(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(RESUMABLE)
  if (request.headers['tus-resumable'] === TUS_VERSION) return
  void reply.header('tus-version', TUS_VERSION)
  throw new AppError('upload_version', { why: `Send the header Tus-Resumable: ${TUS_VERSION}.` })
}

/** Refuses parts that a client would join later (tus `Concatenation`): each part would become a file of its own. @throws AppError `bad_request` */
function requireWhole({ headers }: FastifyRequest): void {
  if (headers['upload-concat'] !== undefined) throw new AppError('bad_request', because('upload_concat'))
}

function bodyOf({ body }: FastifyRequest): Readable | undefined {
  return body instanceof Readable ? body : undefined
}

function tellProgress(reply: FastifyReply, { offset, expiresAt, finished, path }: Upload): void {
  void reply.headers({
    'upload-offset': String(offset),
    'upload-expires': new Date(expiresAt).toUTCString(),
    ...(finished ? { [UPLOADED_PATH_HEADER]: encodeURIComponent(path) } : {}),
  })
}
