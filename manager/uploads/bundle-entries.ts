import { type Readable } from 'node:stream'
import { parseJson } from '#base/parse-json'
import {
  AppError,
  because,
  BundleEntry,
  MOST_BUNDLE_BYTES,
  MOST_BUNDLE_HEADER_BYTES,
  countParts,
  MOST_BUNDLED,
  MOST_PATH_PARTS,
} from '#manager/contract'
import { tooManyParts } from '../files/few-parts.ts'

/** An entry of a bundle with its bytes, which are in memory. */
export interface ReceivedEntry {
  readonly entry: BundleEntry
  readonly bytes: Buffer
}

const LENGTH_BYTES = 4

/**
 * Entries of a bundle as they arrive. Memory holds one entry, and the bytes that the stream has read ahead.
 *
 * @throws AppError `bad_request`, `body_too_large`, `too_many_files`, `upload_stalled` (the body ends within an entry); errors of the body
 */
export async function* entriesOf(body: Readable): AsyncGenerator<ReceivedEntry, void, undefined> {
  const source = createSource(body)
  let count = 0
  let total = 0
  let parts = 0
  for (;;) {
    const prefix = await source.take(LENGTH_BYTES)
    if (prefix === undefined) return
    if (++count > MOST_BUNDLED) {
      throw new AppError('too_many_files', {
        limit: MOST_BUNDLED,
        ...because('bundle_entries_at_most', { limit: MOST_BUNDLED }),
      })
    }
    const length = prefix.readUInt32BE(0)
    if (length > MOST_BUNDLE_HEADER_BYTES) throw new AppError('bad_request', because('bundle_header_too_long'))
    const entry = toEntry(await required(source.take(length)))
    parts += countParts(entry.path)
    if (parts > MOST_PATH_PARTS) throw tooManyParts()
    total += entry.size
    if (total > MOST_BUNDLE_BYTES) {
      throw new AppError('body_too_large', {
        limit: MOST_BUNDLE_BYTES,
        ...because('bundle_bytes_at_most', { bytes: MOST_BUNDLE_BYTES }),
      })
    }
    yield { entry, bytes: await required(source.take(entry.size)) }
  }
}

async function required(bytes: Promise<Buffer | undefined>): Promise<Buffer> {
  const taken = await bytes
  if (taken) return taken
  throw new AppError('upload_stalled', because('bundle_cut'))
}

/** @throws AppError `bad_request` */
function toEntry(header: Buffer): BundleEntry {
  const { success, data, error } = BundleEntry.safeParse(parseJson(header.toString('utf8')))
  if (success) return data
  const [issue] = error.issues
  throw new AppError(
    'bad_request',
    because('bundle_header_wrong', { field: issue?.path.join('.') ?? '', text: issue?.message ?? 'is not valid' }),
  )
}

interface Source {
  /** Reads exactly so many bytes. @returns undefined at the end of the body, if no byte is left */
  take(count: number): Promise<Buffer | undefined>
}

function createSource(body: Readable): Source {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  let held: Buffer[] = []
  let bytes = 0
  return {
    async take(count) {
      while (bytes < count) {
        const next = await chunks.next()
        if (next.done) {
          if (bytes === 0) return undefined
          throw new AppError('upload_stalled', because('bundle_cut'))
        }
        held.push(next.value)
        bytes += next.value.length
      }
      const all = held.length === 1 && held[0] ? held[0] : Buffer.concat(held, bytes)
      held = bytes === count ? [] : [all.subarray(count)]
      bytes -= count
      return all.subarray(0, count)
    },
  }
}
