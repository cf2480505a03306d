import { type Readable } from 'node:stream'
import {
  AppError,
  BundleEntry,
  MOST_BUNDLE_BYTES,
  MOST_BUNDLE_HEADER_BYTES,
  MOST_BUNDLED,
  parseJson,
} from '#manager/contract'

/** An entry of a bundle with its bytes, which are in memory. */
export interface ReceivedEntry {
  readonly entry: BundleEntry
  readonly bytes: Buffer
}

const LENGTH_BYTES = 4

/**
 * Entries of a bundle as they arrive. Memory holds one entry, and what the stream has read ahead.
 *
 * @throws AppError `bad_request`, `body_too_large`, `too_many_files`, `upload_stalled` (the body ends within an entry); errors of the body
 */
export async function* entriesOf(body: Readable): AsyncGenerator<ReceivedEntry, void, undefined> {
  const source = createSource(body)
  let count = 0
  let total = 0
  for (;;) {
    const prefix = await source.take(LENGTH_BYTES)
    if (prefix === undefined) return
    if (++count > MOST_BUNDLED) {
      throw new AppError('too_many_files', {
        limit: MOST_BUNDLED,
        why: `A bundle takes at most ${MOST_BUNDLED} entries.`,
      })
    }
    const length = prefix.readUInt32BE(0)
    if (length > MOST_BUNDLE_HEADER_BYTES)
      throw new AppError('bad_request', { why: 'The header of an entry is too long.' })
    const entry = toEntry(await required(source.take(length)))
    total += entry.size
    if (total > MOST_BUNDLE_BYTES) {
      throw new AppError('body_too_large', {
        limit: MOST_BUNDLE_BYTES,
        why: `A bundle takes at most ${MOST_BUNDLE_BYTES} bytes of files.`,
      })
    }
    yield { entry, bytes: await required(source.take(entry.size)) }
  }
}

async function required(bytes: Promise<Buffer | undefined>): Promise<Buffer> {
  const taken = await bytes
  if (taken) return taken
  throw new AppError('upload_stalled', { why: 'The body ends within an entry.' })
}

/** @throws AppError `bad_request` */
function toEntry(header: Buffer): BundleEntry {
  const { success, data, error } = BundleEntry.safeParse(parseJson(header.toString('utf8')))
  if (success) return data
  const [issue] = error.issues
  throw new AppError('bad_request', {
    why: `Header of an entry: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not valid'}`,
  })
}

interface Source {
  /** The next bytes, exactly so many. @returns undefined at the end of the body, where none is left */
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
          throw new AppError('upload_stalled', { why: 'The body ends within an entry.' })
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
