import { parseJson } from '#base/parse-json'
import {
  AppError,
  BUNDLE_CONTENT,
  fromProblem,
  isErrorCode,
  isProblem,
  type BundleEntrySpec,
  type BundleResult,
  type FolderId,
} from '#manager/contract'
import { t } from '../../../words/en/transfers.ts'

/** A small file that is sent with others in one request. */
export interface BundledUpload {
  readonly file: File
  readonly header: BundleEntrySpec
}

export interface BundleSpec {
  readonly folderId: FolderId
  readonly files: readonly BundledUpload[]
  readonly headers: () => Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Path of the uploaded file, or its error. */
export type BundledResult = { readonly path: string } | { readonly error: AppError }

const LENGTH_BYTES = 4

/**
 * Uploads small files in one request (`#manager/contract`, bundles), each with its own result, in order.
 *
 * @throws AppError for the request as a whole; the reason of the signal
 */
export async function sendBundle({ folderId, files, headers, signal }: BundleSpec): Promise<BundledResult[]> {
  const text = new TextEncoder()
  const body = new Blob(
    files.flatMap(({ file, header }) => {
      const bytes = text.encode(JSON.stringify(header))
      const length = new DataView(new ArrayBuffer(LENGTH_BYTES))
      length.setUint32(0, bytes.length)
      return [length, bytes, file]
    }),
  )
  let response: Response
  try {
    response = await fetch(`/api/v1/folders/${encodeURIComponent(folderId)}/bundles`, {
      method: 'POST',
      // As bytes: Electron loses bodies of files in some versions (`file-pieces.ts`).
      body: await body.arrayBuffer(),
      headers: { ...headers(), 'content-type': BUNDLE_CONTENT },
      credentials: 'same-origin',
      signal,
    })
  } catch (cause) {
    signal.throwIfAborted()
    throw new AppError('unavailable', { why: t('noAnswer') }, { cause })
  }
  const reply = parseJson(await response.text())
  if (!response.ok) {
    if (isProblem(reply)) throw fromProblem(reply)
    throw new AppError(response.status >= 500 ? 'unavailable' : 'internal', { why: t('noAnswer') })
  }
  return (reply as BundleResult).items.map(({ path, error }) =>
    error === null
      ? { path }
      : {
          error: new AppError(isErrorCode(error.code) ? error.code : 'internal', { why: error.message, ...error.data }),
        },
  )
}
