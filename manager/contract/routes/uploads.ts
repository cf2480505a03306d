import { z } from 'zod'
import { FolderId } from '../ids.ts'
import { TUS_CONTENT, Upload, UploadFinish, UploadId } from '../storage/uploads.ts'
import { type RouteSpec } from './route-spec.ts'

const folder = z.object({ id: FolderId })
const upload = z.object({ id: FolderId, uploadId: UploadId })

/** Resumable uploads into a folder, by the tus protocol (`contract/storage/uploads.ts` says which parts of it). */
export const UPLOAD_ROUTES = {
  describeUploads: {
    method: 'OPTIONS',
    path: '/api/v1/folders/:id/uploads',
    access: 'user',
    summary: 'tus: version and extensions of the protocol, in the headers Tus-Version and Tus-Extension.',
    params: folder,
    status: 204,
    reply: z.void(),
  },
  listUploads: {
    method: 'GET',
    path: '/api/v1/folders/:id/uploads',
    access: 'user',
    summary: "The caller's unfinished uploads into this folder, the newest first.",
    params: folder,
    query: z.object({
      others: z
        .stringbool()
        .optional()
        .describe('Those of everybody else instead, for whoever manages the folder: they hold room of it.'),
    }),
    reply: z.object({ items: z.array(Upload) }),
  },
  createUpload: {
    method: 'POST',
    path: '/api/v1/folders/:id/uploads',
    access: 'user',
    summary:
      'tus: begin an upload. Headers Upload-Length and Upload-Metadata (path, or filename; onConflict, sha256, modifiedAt, finish); the body may hold the first bytes. Location names the upload.',
    params: folder,
    streamedBody: TUS_CONTENT,
    status: 201,
    reply: Upload,
  },
  readUpload: {
    method: 'HEAD',
    path: '/api/v1/folders/:id/uploads/:uploadId',
    access: 'user',
    summary: 'tus: how far an upload is, in the header Upload-Offset. A finished one has its whole length.',
    params: upload,
    status: 204,
    reply: z.void(),
  },
  continueUpload: {
    method: 'PATCH',
    path: '/api/v1/folders/:id/uploads/:uploadId',
    access: 'user',
    summary:
      'tus: add bytes at the offset of the header Upload-Offset. The last byte finishes the upload, unless it is finished later. Also as POST with X-HTTP-Method-Override: PATCH.',
    params: upload,
    streamedBody: TUS_CONTENT,
    status: 204,
    reply: z.void(),
  },
  finishUpload: {
    method: 'POST',
    path: '/api/v1/folders/:id/uploads/:uploadId/finish',
    access: 'user',
    summary:
      'Put a complete upload into the folder: one with `finish later`, or one that was refused, with another answer to the conflict. Safe to repeat.',
    params: upload,
    body: UploadFinish,
    reply: Upload,
  },
  cancelUpload: {
    method: 'DELETE',
    path: '/api/v1/folders/:id/uploads/:uploadId',
    access: 'user',
    summary:
      'tus: end an upload and delete the bytes that have arrived. A finished file stays. Also for whoever manages the folder, and for the own one without a right to it.',
    params: upload,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
