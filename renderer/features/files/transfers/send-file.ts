import { type ApiClient, AppError, isAppError, type UploadId } from '#manager/contract'
import { t } from '../../../words/en/transfers.ts'
import { hashFile } from './hash-file.ts'
import { is, type TransferItem } from './transfer-item.ts'
import { startUpload } from './upload-file.ts'

/** Files up to this size are hashed before they are sent; larger ones while they are sent. */
const HASH_FIRST_BYTES = 1024 * 1024

export interface SendFileDeps {
  readonly api: ApiClient
  /** True if every request has to be short. */
  readonly inPieces: boolean
  readonly headers: () => Record<string, string>
  /** Called when the item has changed. */
  readonly onChange: () => void
}

/** Sends one file, with its hash at the end, unless the person stops it meanwhile. @throws AppError of the manager; `file_not_found` if it cannot be read */
export async function sendFile(
  { api, inPieces, headers, onChange }: SendFileDeps,
  item: TransferItem,
  file: File,
): Promise<void> {
  const hashes = hashFile(file).catch((cause: unknown) => {
    throw new AppError('file_not_found', { why: t('unreadable') }, { cause })
  })
  // A failure of the hash is reported below, where the hash is needed.
  hashes.catch(() => undefined)
  const isSmall = file.size <= HASH_FIRST_BYTES && item.address === null
  const sha256 = isSmall ? await hashes : null
  if (!is(item, 'running')) return
  item.running = startUpload({
    file,
    folderId: item.batch.folderId,
    path: item.path,
    onConflict: item.onConflict,
    sha256,
    address: item.address,
    inPieces,
    headers,
    onAddress: address => void (item.address = address),
    onProgress(bytes) {
      if (item.status === 'waiting') item.status = 'running'
      item.sent = bytes
      onChange()
    },
    onWaiting() {
      if (item.status === 'running') item.status = 'waiting'
      onChange()
    },
  })
  await item.running.arrived
  if (is(item, 'paused', 'cancelled')) return
  item.status = 'checking'
  onChange()
  if (!isSmall) await finish(api, item, await hashes)
}

async function finish(api: ApiClient, item: TransferItem, sha256: string): Promise<void> {
  const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
  for (let attempt = 0; ; attempt++) {
    try {
      await api.finishUpload({ params: paramsOf(item), body: { sha256, onConflict: item.onConflict } })
      return
    } catch (error) {
      // Safe to repeat: hashing a large file takes the server some time, in which the connection may be lost.
      if (!isAppError(error) || !['unavailable', 'upload_locked'].includes(error.code) || attempt >= 30) throw error
      await wait(Math.min(15_000, 1_000 * 2 ** attempt))
    }
  }
}

/** The last part of the address identifies the upload, whatever a proxy made of the rest. */
export const paramsOf = ({ batch, address }: TransferItem) => ({
  id: batch.folderId,
  uploadId: (address?.split('/').at(-1) ?? '') as UploadId,
})
