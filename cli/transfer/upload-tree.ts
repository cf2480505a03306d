import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { AppError, ERRORS, isAppError, MOST_BUNDLED_BYTES } from '#manager/contract'
import { type Packed, uploadBundle } from './bundle.ts'
import { type LocalPath, shownPath } from './local-path.ts'
import { createPool } from './pool.ts'
import { HAS_EXECUTABLE_BIT, isExecutable, isOwnerOnly, type UploadTarget, uploadFile } from './upload.ts'

/** A file or empty directory of this computer, and its path in the folder. */
export interface UploadItem {
  readonly kind: 'file' | 'directory'
  readonly local: LocalPath
  readonly remote: string
}

export interface UploadEvents {
  readonly onDone: (item: UploadItem, bytes: number) => void
  /** For an error that concerns this item only. */
  readonly onFailed: (item: UploadItem, error: AppError) => void
}

/** Bundles and large files on their way at the same time. */
const AT_ONCE = 4
/** A bundle is sent when it has so many entries or bytes. */
const BUNDLE_ENTRIES = 500
const BUNDLE_BYTES = 8 * 1024 * 1024

/** Uploads files and empty directories: small ones in bundles, each of the others by itself. @throws AppError that stops all of them */
export async function uploadItems(
  target: UploadTarget,
  items: AsyncIterable<UploadItem> | Iterable<UploadItem>,
  events: UploadEvents,
): Promise<void> {
  const pool = createPool(AT_ONCE)
  let bundle: Bundle = newBundle()
  const send = async () => {
    const full = bundle
    bundle = newBundle()
    if (full.packed.length > 0) await pool.add(() => sendBundle(target, full, events))
  }
  for await (const item of items) {
    target.signal.throwIfAborted()
    const packed = pack(target, item, events)
    if (packed === 'large') await pool.add(() => sendOne(target, item, events))
    if (typeof packed === 'string') continue
    bundle.packed.push(packed)
    bundle.items.set(packed, item)
    bundle.bytes += packed.bytes.length
    if (bundle.packed.length >= BUNDLE_ENTRIES || bundle.bytes >= BUNDLE_BYTES) await send()
  }
  await send()
  await pool.settle()
}

interface Bundle {
  readonly packed: Packed[]
  readonly items: Map<Packed, UploadItem>
  bytes: number
}
const newBundle = (): Bundle => ({ packed: [], items: new Map(), bytes: 0 })

/** Reads a small file. The calls are synchronous: for small files that takes a fraction of the time, and nothing else runs here. */
function pack({ onConflict }: UploadTarget, item: UploadItem, { onFailed }: UploadEvents): Packed | 'large' | 'failed' {
  const { kind, local, remote: path } = item
  if (kind === 'directory') return { entry: { path, kind }, bytes: Buffer.alloc(0) }
  try {
    const file = openSync(local, 'r')
    try {
      const { size, mtime, mode } = fstatSync(file)
      if (size > MOST_BUNDLED_BYTES) return 'large'
      const all = Buffer.allocUnsafe(size)
      const bytes = all.subarray(0, size === 0 ? 0 : readSync(file, all, 0, size, 0))
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const runs = HAS_EXECUTABLE_BIT ? { executable: isExecutable(mode), ownerOnly: isOwnerOnly(mode) } : {}
      return {
        entry: { path, size: bytes.length, sha256, onConflict, modifiedAt: mtime.toISOString(), ...runs },
        bytes,
      }
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    onFailed(item, new AppError('bad_request', { why: `${shownPath(local)} cannot be read.` }, { cause }))
    return 'failed'
  }
}

async function sendBundle(
  target: UploadTarget,
  { packed, items }: Bundle,
  { onDone, onFailed }: UploadEvents,
): Promise<void> {
  await uploadBundle(target, packed, (one, result) => {
    const item = items.get(one)
    if (!item) return
    if (typeof result === 'string') {
      target.onBytes(one.bytes.length)
      onDone(item, one.bytes.length)
    } else if (stopsAll(result)) throw result
    else onFailed(item, result)
  })
}

async function sendOne(target: UploadTarget, item: UploadItem, { onDone, onFailed }: UploadEvents): Promise<void> {
  let bytes = 0
  const counting = {
    ...target,
    onBytes(count: number) {
      bytes += count
      target.onBytes(count)
    },
  }
  try {
    await uploadFile(counting, item.local, item.remote)
    onDone(item, bytes)
  } catch (error) {
    if (!isOfOneFile(error)) throw error
    onFailed(item, error)
  }
}

/** Whether the other files of a tree may still be transferred. */
export const isOfOneFile = (error: unknown): error is AppError => isAppError(error) && !stopsAll(error)

/** Whether the other files of a tree would fail for the same reason. */
export function stopsAll({ code }: AppError): boolean {
  const { status, retry } = ERRORS[code]
  return retry || status >= 500 || [401, 403].includes(status) || code === 'folder_not_found'
}
