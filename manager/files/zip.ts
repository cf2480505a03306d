import { type HeavyRequest } from './heavy-work.ts'

/** A file or directory of a ZIP file. */
export interface ZipEntry {
  /** Path with `/` as separator; a directory ends with a slash. */
  readonly path: string
  readonly modifiedAt: Date
  /** Permission bits. */
  readonly mode: number
  /** Upper bound of the bytes that `bytes` yields. */
  readonly size: number
  readonly bytes: AsyncIterable<Buffer> | Iterable<Buffer>
}

const MAX_32 = 0xffff_ffff
const MAX_16 = 0xffff
/** Flags: sizes and checksum follow the data; names are UTF-8. */
const FLAGS = 0x0808
const VERSION = 45
const MADE_BY_UNIX = 3 << 8

/**
 * Writes a ZIP file as a stream: files are stored, not compressed, and their checksums follow them. Memory grows by about a
 * hundred bytes for each entry.
 *
 * @see PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3 (ZIP64)
 */
export async function* zipOf(
  entries: AsyncIterable<ZipEntry>,
  heavy: Pick<HeavyRequest, 'crc32'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const directory: Buffer[] = []
  let at = 0
  for await (const entry of entries) {
    const path = Buffer.from(entry.path)
    const head = localHeader(entry, path)
    yield head
    let crc = 0
    let size = 0
    for await (const chunk of entry.bytes) {
      const sum = await heavy.crc32(chunk, crc)
      crc = sum.crc
      size += sum.bytes.byteLength
      yield sum.bytes
    }
    const tail = descriptor(crc, size, isLarge(entry))
    yield tail
    directory.push(centralHeader({ ...entry, size }, path, { crc, at }))
    at += head.length + size + tail.length
  }
  const length = directory.reduce((sum, header) => sum + header.length, 0)
  yield* directory
  yield endOf({ at, length, count: directory.length })
}

/** Whether to write the sizes of an entry with 64 bits, which its local header must say before they are known. */
const isLarge = ({ size }: Pick<ZipEntry, 'size'>) => size >= MAX_32

function localHeader(entry: ZipEntry, path: Buffer): Buffer {
  const { modifiedAt } = entry
  const wide = isLarge(entry)
  // The local header of a ZIP64 entry contains both sizes as zero, because the real ones follow the data.
  const extra = Buffer.concat([...(wide ? [zip64([0, 0])] : []), timestamp(modifiedAt)])
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(VERSION, 4)
  header.writeUInt16LE(FLAGS, 6)
  header.writeUInt32LE(dosTime(modifiedAt), 10)
  header.writeUInt32LE(wide ? MAX_32 : 0, 18)
  header.writeUInt32LE(wide ? MAX_32 : 0, 22)
  header.writeUInt16LE(path.length, 26)
  header.writeUInt16LE(extra.length, 28)
  return Buffer.concat([header, path, extra])
}

function descriptor(crc: number, size: number, wide: boolean): Buffer {
  const tail = Buffer.alloc(wide ? 24 : 16)
  tail.writeUInt32LE(0x08074b50, 0)
  tail.writeUInt32LE(crc, 4)
  if (wide) {
    tail.writeBigUInt64LE(BigInt(size), 8)
    tail.writeBigUInt64LE(BigInt(size), 16)
  } else {
    tail.writeUInt32LE(size, 8)
    tail.writeUInt32LE(size, 12)
  }
  return tail
}

function centralHeader(entry: ZipEntry, path: Buffer, { crc, at }: { crc: number; at: number }): Buffer {
  const { size, mode, modifiedAt } = entry
  const large = [...(size >= MAX_32 ? [size, size] : []), ...(at >= MAX_32 ? [at] : [])]
  const extra = Buffer.concat([...(large.length > 0 ? [zip64(large)] : []), timestamp(modifiedAt)])
  const isDirectory = entry.path.endsWith('/')
  const header = Buffer.alloc(46)
  header.writeUInt32LE(0x02014b50, 0)
  header.writeUInt16LE(MADE_BY_UNIX | VERSION, 4)
  header.writeUInt16LE(VERSION, 6)
  header.writeUInt16LE(FLAGS, 8)
  header.writeUInt32LE(dosTime(modifiedAt), 12)
  header.writeUInt32LE(crc, 16)
  header.writeUInt32LE(Math.min(size, MAX_32), 20)
  header.writeUInt32LE(Math.min(size, MAX_32), 24)
  header.writeUInt16LE(path.length, 28)
  header.writeUInt16LE(extra.length, 30)
  // Upper half: type and permissions of Unix; lower half: the directory bit of DOS.
  header.writeUInt32LE((((isDirectory ? 0o040000 : 0o100000) | mode) * 0x10000 + (isDirectory ? 0x10 : 0)) >>> 0, 38)
  header.writeUInt32LE(Math.min(at, MAX_32), 42)
  return Buffer.concat([header, path, extra])
}

/** End of the file; with the records of ZIP64 if a number does not fit otherwise. */
function endOf({ at, length, count }: { at: number; length: number; count: number }): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(count, MAX_16), 8)
  end.writeUInt16LE(Math.min(count, MAX_16), 10)
  end.writeUInt32LE(Math.min(length, MAX_32), 12)
  end.writeUInt32LE(Math.min(at, MAX_32), 16)
  if (count < MAX_16 && length < MAX_32 && at < MAX_32) return end

  const record = Buffer.alloc(56)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(44n, 4)
  record.writeUInt16LE(MADE_BY_UNIX | VERSION, 12)
  record.writeUInt16LE(VERSION, 14)
  record.writeBigUInt64LE(BigInt(count), 24)
  record.writeBigUInt64LE(BigInt(count), 32)
  record.writeBigUInt64LE(BigInt(length), 40)
  record.writeBigUInt64LE(BigInt(at), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(BigInt(at + length), 8)
  locator.writeUInt32LE(1, 16)
  return Buffer.concat([record, locator, end])
}

function zip64(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + values.length * 8)
  extra.writeUInt16LE(0x0001, 0)
  extra.writeUInt16LE(values.length * 8, 2)
  values.forEach((value, index) => extra.writeBigUInt64LE(BigInt(value), 4 + index * 8))
  return extra
}

/** Time of modification in seconds since 1970, which the time of DOS lacks. @see Info-ZIP, extra field 0x5455 */
function timestamp(modifiedAt: Date): Buffer {
  const extra = Buffer.alloc(9)
  extra.writeUInt16LE(0x5455, 0)
  extra.writeUInt16LE(5, 2)
  extra.writeUInt8(1, 4)
  extra.writeInt32LE(Math.max(-0x8000_0000, Math.min(0x7fff_ffff, Math.floor(modifiedAt.getTime() / 1000))), 5)
  return extra
}

/** Date and time in DOS format, from 1980 to 2107, in UTC. */
function dosTime(modifiedAt: Date): number {
  const year = Math.max(1980, Math.min(2107, modifiedAt.getUTCFullYear()))
  const date = ((year - 1980) << 9) | ((modifiedAt.getUTCMonth() + 1) << 5) | modifiedAt.getUTCDate()
  const time = (modifiedAt.getUTCHours() << 11) | (modifiedAt.getUTCMinutes() << 5) | (modifiedAt.getUTCSeconds() >> 1)
  return ((date << 16) | time) >>> 0
}
