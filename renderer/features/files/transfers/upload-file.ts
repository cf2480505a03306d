import { DetailedError, Upload } from 'tus-js-client'
import { parseJson } from '#base/parse-json'
import { AppError, ERRORS, fromProblem, isProblem, type FolderId } from '#manager/contract'
import { openInPieces, PIECE_BYTES } from './file-pieces.ts'
import { t } from '../../../words/en/transfers.ts'

/** Header of all tus requests; the library sets it for its own requests. */
export const TUS = { 'tus-resumable': '1.0.0' }

/** How an upload treats a file that exists. */
export type UploadConflict = 'fail' | 'replace' | 'rename'

export interface UploadSpec {
  readonly file: File
  readonly folderId: FolderId
  /** Relative to the folder; missing directories are made. */
  readonly path: string
  readonly onConflict: UploadConflict
  /** SHA-256 of the whole file, if it is known beforehand; else `finishLater`. */
  readonly sha256: string | null
  /** Address of an upload that was begun earlier. */
  readonly address: string | null
  /** True in the desktop app: send the file in pieces of bytes (`file-pieces.ts`). */
  readonly inPieces: boolean
  /** Headers of the sign-in, read for every request. */
  readonly headers: () => Readonly<Record<string, string>>
  onAddress(address: string): void
  onProgress(bytes: number): void
  /** Called while the connection is lost, with the pause before the next attempt. */
  onWaiting(): void
}

export interface RunningUpload {
  /** Resolves when all bytes have arrived. @throws AppError */
  readonly arrived: Promise<null>
  /** Stops sending; bytes that have arrived are kept. */
  stop(): Promise<void>
}

/** Files that are sent with the request that creates them. */
const SMALL_BYTES = 1024 * 1024
/** Pauses before the next attempts; each byte that arrives restarts the list. The last pause repeats for a day. */
const FIRST_PAUSES_MS = [1_000, 2_000, 5_000, 15_000]
const LONG_PAUSE_MS = 60_000
const PAUSES_MS = [...FIRST_PAUSES_MS, ...Array.from({ length: 24 * 60 }, () => LONG_PAUSE_MS)]

/** Sends a file by the tus protocol. Lost connections are retried; the bytes that arrived are not sent again. */
export function startUpload(spec: UploadSpec): RunningUpload {
  let stopped = false
  let isWaiting = false
  const { promise, resolve, reject } = Promise.withResolvers<null>()
  const upload = new Upload(spec.file, {
    endpoint: uploadsAddress(spec.folderId),
    uploadUrl: spec.address,
    ...(spec.inPieces ? { fileReader: { openFile: openInPieces }, chunkSize: PIECE_BYTES } : {}),
    // A small file takes one request. A large one gets its address first: a connection lost while creating it loses nothing.
    uploadDataDuringCreation: spec.file.size <= SMALL_BYTES,
    storeFingerprintForResuming: false,
    removeFingerprintOnSuccess: false,
    retryDelays: PAUSES_MS,
    metadata: {
      path: spec.path,
      onConflict: spec.onConflict,
      modifiedAt: new Date(spec.file.lastModified).toISOString(),
      ...(spec.sha256 === null ? { finish: 'later' } : { sha256: spec.sha256 }),
    },
    onBeforeRequest(request) {
      for (const [name, value] of Object.entries(spec.headers())) request.setHeader(name, value)
    },
    onUploadUrlAvailable: () => upload.url !== null && spec.onAddress(upload.url),
    onProgress(sent) {
      isWaiting = false
      spec.onProgress(sent)
    },
    onShouldRetry(error) {
      if (stopped || !mayRetry(error)) return false
      isWaiting = true
      spec.onWaiting()
      return true
    },
    onSuccess: () => resolve(null),
    onError: error => reject(toAppError(error)),
  })
  upload.start()
  // When the network is back, the pause ends: waiting up to a minute longer would be useless.
  const onOnline = () => {
    if (isWaiting && !stopped) void upload.abort().then(() => stopped || upload.start(), reject)
  }
  globalThis.addEventListener('online', onOnline)
  return {
    arrived: promise.finally(() => globalThis.removeEventListener('online', onOnline)),
    async stop() {
      stopped = true
      globalThis.removeEventListener('online', onOnline)
      await upload.abort()
    },
  }
}

export const uploadsAddress = (folderId: FolderId) => `/api/v1/folders/${encodeURIComponent(folderId)}/uploads`

function problemOf(error: Error): AppError | undefined {
  if (!(error instanceof DetailedError)) return undefined
  const problem = parseJson(error.originalResponse?.getBody() ?? '')
  return isProblem(problem) ? fromProblem(problem) : undefined
}

/** Whether to retry: lost connections and refusals that may pass; a gateway's own page counts as a lost connection. */
function mayRetry(error: Error): boolean {
  const problem = problemOf(error)
  if (problem) return ERRORS[problem.code].retry
  const status = error instanceof DetailedError ? (error.originalResponse?.getStatus() ?? 0) : 0
  return status === 0 || status >= 500
}

function toAppError(error: Error): AppError {
  const problem = problemOf(error)
  if (problem) return problem
  return new AppError('unavailable', { why: t('noAnswer') }, { cause: error })
}
