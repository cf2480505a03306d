import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import {
  AppError,
  type FolderId,
  isAppError,
  type FileConflict,
  TUS_CONTENT,
  TUS_VERSION,
  type UploadId,
} from '#manager/contract'
import { textUpTo } from '#proxy/network'
import { type Connection } from '../config/connect.ts'
import { type LocalPath, shownPath } from './local-path.ts'
import { retrying } from './retrying.ts'
import { sendTransfer } from './send.ts'

/** A file up to this size is sent with the request that creates the upload. */
const SMALL_BYTES = 4 * 1024 * 1024
/** Signed requests send so many bytes each: their hash is part of the signature. */
const SIGNED_BYTES = 16 * 1024 * 1024
const READ_BYTES = 1024 * 1024

export interface UploadTarget {
  readonly connection: Connection
  readonly folderId: FolderId
  readonly onConflict: FileConflict
  /** Requests are signed with a keypair. */
  readonly isSigned: boolean
  readonly signal: AbortSignal
  /** Called with the number of bytes that have arrived since the last call; negative if some have to be sent again. */
  readonly onBytes: (count: number) => void
  readonly onPause: (error: Error) => void
}

/** @param remote path in the folder   @returns the path that the file has there */
export async function uploadFile(target: UploadTarget, local: LocalPath, remote: string): Promise<string> {
  await using file = await openLocal(local)
  const { size, mtime, mode } = await file.stat()
  const metadata = {
    path: remote,
    onConflict: target.onConflict,
    modifiedAt: mtime.toISOString(),
    ...(HAS_EXECUTABLE_BIT ? { executable: String(isExecutable(mode)), ownerOnly: String(isOwnerOnly(mode)) } : {}),
  }
  if (size <= SMALL_BYTES) return await uploadSmall(target, file, size, metadata)
  try {
    return await uploadLarge(target, { file, local, size, metadata })
  } catch (error) {
    // An earlier run may have left the beginning of another file of the same name and size.
    if (!isAppError(error) || error.code !== 'upload_damaged') throw error
    return await uploadLarge(target, { file, local, size, metadata })
  }
}

/** Windows does not store whether a file is executable; there, the file in the folder keeps its permission. */
export const HAS_EXECUTABLE_BIT = process.platform !== 'win32'

/** Whether the owner of a file may run it. */
export const isExecutable = (mode: number) => (mode & 0o100) !== 0

/** Whether nobody but the owner of a file has any right to it. */
export const isOwnerOnly = (mode: number) => (mode & 0o077) === 0

async function openLocal(local: LocalPath): Promise<FileHandle> {
  return await open(local, 'r').catch((error: unknown) => {
    throw new AppError('bad_request', { why: `${shownPath(local)} cannot be read.` }, { cause: error })
  })
}

type Metadata = Readonly<Record<string, string>>

async function uploadSmall(target: UploadTarget, file: FileHandle, size: number, metadata: Metadata): Promise<string> {
  const body = Buffer.alloc(size)
  const { bytesRead } = await file.read(body, 0, size, 0)
  const bytes = body.subarray(0, bytesRead)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const made = await retrying(() => create(target, { size: bytes.length, metadata: { ...metadata, sha256 }, bytes }), {
    ...target,
    progress: () => 0,
  })
  target.onBytes(bytes.length)
  return made.path
}

interface Created {
  readonly id: UploadId
  readonly path: string
}

async function create(
  { connection, folderId, signal }: UploadTarget,
  { size, metadata, bytes }: { size: number; metadata: Metadata; bytes?: Buffer },
): Promise<Created> {
  const reply = await sendTransfer(connection, {
    method: 'POST',
    path: `/api/v1/folders/${folderId}/uploads`,
    headers: {
      ...TUS,
      'upload-length': String(size),
      'upload-metadata': Object.entries(metadata)
        .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
        .join(','),
      ...(bytes === undefined ? {} : { 'content-type': TUS_CONTENT }),
    },
    body: bytes,
    signal,
  })
  return JSON.parse(await textUpTo(reply)) as Created
}

const TUS = { 'tus-resumable': TUS_VERSION }

interface LargeFile {
  readonly file: FileHandle
  readonly local: LocalPath
  readonly size: number
  readonly metadata: Metadata
}

async function uploadLarge(target: UploadTarget, { file, local, size, metadata }: LargeFile): Promise<string> {
  const { connection, folderId, isSigned, onConflict, signal, onBytes, onPause } = target
  const { api } = connection
  const remote = metadata.path ?? ''
  const { items } = await api.listUploads({ params: { id: folderId }, signal })
  const begun = items.find(upload => upload.path === remote && upload.size === size)
  const { id } =
    begun ??
    (await retrying(() => create(target, { size, metadata: { ...metadata, finish: 'later' } }), {
      ...target,
      progress: () => 0,
    }))
  const path = `/api/v1/folders/${folderId}/uploads/${id}`
  const hashing = { hash: createHash('sha256'), upTo: 0 }
  let told = 0
  const tell = (offset: number) => {
    onBytes(offset - told)
    told = offset
  }

  async function attempt(): Promise<void> {
    for (;;) {
      const head = await sendTransfer(connection, { method: 'HEAD', path, headers: TUS, signal })
      const offset = Number(head.resume().headers['upload-offset'])
      tell(offset)
      await hashUpTo(file, hashing, offset)
      if (offset >= size) return
      const end = isSigned ? Math.min(size, offset + SIGNED_BYTES) : size
      const source = bytesOf(file, { from: offset, to: end, hashing, tell })
      const reply = await sendTransfer(connection, {
        method: 'PATCH',
        path,
        headers: {
          ...TUS,
          'content-type': TUS_CONTENT,
          'upload-offset': String(offset),
          ...(isSigned ? {} : { 'content-length': String(end - offset) }),
        },
        body: isSigned ? await collect(source, end - offset) : source,
        signal,
      })
      reply.resume()
    }
  }

  await retrying(attempt, { signal, onPause, progress: () => told })
  if (hashing.upTo !== size)
    throw new AppError('bad_request', { why: `${shownPath(local)} became shorter while it was sent.` })
  const sha256 = hashing.hash.digest('hex')
  const finish = () =>
    api.finishUpload({ params: { id: folderId, uploadId: id }, body: { sha256, onConflict }, signal })
  return (await retrying(finish, { signal, onPause, progress: () => 0 })).path
}

/** Hash of the beginning of a file, as far as it was read. */
interface Hashing {
  readonly hash: Hash
  upTo: number
}

/** Hashes the beginning of the file, which the server has already. */
async function hashUpTo(file: FileHandle, hashing: Hashing, end: number): Promise<void> {
  for await (const _chunk of bytesOf(file, { from: hashing.upTo, to: end, hashing, tell: () => undefined }));
}

/** @param size of all chunks together, in bytes */
async function collect(chunks: AsyncIterable<Buffer>, size: number): Promise<Buffer> {
  const all = Buffer.allocUnsafe(size)
  let at = 0
  for await (const chunk of chunks) at += chunk.copy(all, at)
  return all
}

/** Bytes of a file, in two buffers that take turns: the memory of a chunk is used again for the next but one. */
async function* bytesOf(
  file: FileHandle,
  { from, to, hashing, tell }: { from: number; to: number; hashing: Hashing; tell: (offset: number) => void },
): AsyncGenerator<Buffer> {
  const size = Math.min(READ_BYTES, Math.max(0, to - from))
  const buffers = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)]
  for (let position = from, turn = 0; position < to; turn = 1 - turn) {
    const chunk = buffers[turn] ?? Buffer.alloc(0)
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, to - position), position)
    if (bytesRead === 0) throw new AppError('bad_request', { why: 'The file became shorter while it was sent.' })
    const bytes = chunk.subarray(0, bytesRead)
    position += bytesRead
    if (position > hashing.upTo) {
      hashing.hash.update(bytes.subarray(bytesRead - (position - hashing.upTo)))
      hashing.upTo = position
    }
    yield bytes
    tell(position)
  }
}
