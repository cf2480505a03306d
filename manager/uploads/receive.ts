import { type Readable } from 'node:stream'
import { type Db } from '../store/schema.ts'
import { noteReceived } from '../store/storage/uploads.ts'
import { type UploadHashes } from './hashes.ts'
import { type OpenPart } from './open-part.ts'
import { writePart } from './write-part.ts'

/**
 * Receives bytes and records their number, also if the body ends too early: bytes on the storage count towards quotas. @returns the new end
 * of the file @throws as `writePart`
 */
export async function receive(
  { db, hashes }: { readonly db: Db; readonly hashes: UploadHashes },
  part: OpenPart,
  offset: number,
  body: Readable,
): Promise<number> {
  const note = (bytes: number) => noteReceived(db, part.row.id, bytes)
  const end = await write(hashes, part, offset, body).catch(async (error: unknown) => {
    const noted = part.file.state().then(({ size }) => note(size))
    await noted.catch(() => undefined) // the first error is the one to report
    throw error
  })
  await note(end)
  return end
}

async function write(
  hashes: UploadHashes,
  { row, file, lease }: OpenPart,
  offset: number,
  body: Readable,
): Promise<number> {
  const hash = row.sha256 !== null || row.finish_later ? hashes.take(row.id, offset) : undefined
  try {
    return await writePart(body, {
      file,
      offset,
      size: row.size,
      signal: lease.signal,
      onArrived: () => lease.arrived(),
      onWritten: bytes => hash?.add(bytes),
    })
  } finally {
    if (hash) hashes.keep(row.id, hash)
    await file.sync()
  }
}
