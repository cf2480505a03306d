import { z } from 'zod'
import { BUNDLE_CONTENT, BundleRequest, BundleResult } from '../storage/bundles.ts'
import { FolderId } from '../ids.ts'
import { type RouteSpec } from './route-spec.ts'

const folder = z.object({ id: FolderId })

/** Many small files of a folder in one request; `contract/storage/bundles.ts` describes the format. */
export const BUNDLE_ROUTES = {
  uploadBundle: {
    method: 'POST',
    path: '/api/v1/folders/:id/bundles',
    access: 'user',
    summary:
      'Upload up to 1,000 small files and directories in one body. Each file is verified by its SHA-256 and appears whole or not at all; each has a result of its own.',
    params: folder,
    streamedBody: BUNDLE_CONTENT,
    reply: BundleResult,
  },
  readBundle: {
    method: 'POST',
    path: '/api/v1/folders/:id/bundles/read',
    access: 'user',
    summary:
      'Download up to 1,000 small files in one body. A file that cannot be read, or is too large, has an error instead of bytes.',
    params: folder,
    body: BundleRequest,
    reply: z.string(),
  },
  readChecksums: {
    method: 'POST',
    path: '/api/v1/folders/:id/checksums',
    access: 'user',
    summary:
      'SHA-256 of up to 1,000 files, as lines of JSON in the order of the paths: `{"path":…,"sha256":…}`, null for what cannot be read. Empty lines keep the connection alive.',
    params: folder,
    body: BundleRequest,
    reply: z.string(),
  },
} as const satisfies Record<string, RouteSpec>
