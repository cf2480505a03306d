import { ATTRIBUTE } from './parse-request.ts'
import {
  type Attributes,
  EXTENSIONS,
  type FileSystemStats,
  MOST_DATA_BYTES,
  MOST_HANDLES,
  MOST_PACKET_BYTES,
  type NamedEntry,
  type Reply,
  STATUS,
  TYPE,
  VERSION,
} from './protocol.ts'

/** Answer to the first packet. */
export function versionPacket(): Buffer {
  const extensions = Object.entries(EXTENSIONS).flatMap(([name, version]) => [text(name), text(version)])
  return packet(TYPE.version, [uint32(VERSION), ...extensions])
}

export function replyPacket(id: number, reply: Reply): Buffer {
  switch (reply.kind) {
    case 'status':
      return packet(TYPE.status, [uint32(id), uint32(STATUS[reply.status]), text(reply.message), text('en')])
    case 'handle':
      return packet(TYPE.handle, [uint32(id), text(reply.handle)])
    case 'names':
      return packet(TYPE.name, [uint32(id), uint32(reply.entries.length), ...reply.entries.map(entryBytes)])
    case 'attributes':
      return packet(TYPE.attrs, [uint32(id), attributeBytes(reply.attributes)])
    case 'limits': {
      const limits = [MOST_PACKET_BYTES, MOST_DATA_BYTES, MOST_DATA_BYTES, MOST_HANDLES]
      return packet(TYPE.extendedReply, [uint32(id), uint64(...limits)])
    }
    case 'stats':
      return packet(TYPE.extendedReply, [uint32(id), statsBytes(reply.stats)])
  }
}

/** Bytes of a DATA packet in front of the data. */
export const DATA_HEAD = 13

/** Completes a DATA packet. @param bytes DATA_HEAD free bytes, and the data @returns the part of `bytes` that is the packet */
export function dataPacket(id: number, bytes: Buffer, length: number): Buffer {
  bytes.writeUInt32BE(DATA_HEAD - 4 + length, 0)
  bytes[4] = TYPE.data
  bytes.writeUInt32BE(id, 5)
  bytes.writeUInt32BE(length, 9)
  return bytes.subarray(0, DATA_HEAD + length)
}

/** Number of bytes that an entry needs in a reply. */
export const entryLength = ({ name }: NamedEntry): number => 2 * name.length + MOST_ENTRY_OVERHEAD
/** Space for two lengths, the attributes, and the columns before the name in the human-readable line. */
const MOST_ENTRY_OVERHEAD = 160

function entryBytes({ name, attributes }: NamedEntry): Buffer {
  return Buffer.concat([bytesField(name), bytesField(listLine(name, attributes)), attributeBytes(attributes)])
}

/** A line in the format of `ls -l`, which some programs show unchanged. */
function listLine(name: Buffer, { mode = 0, owner, size = 0, times }: Attributes): Buffer {
  const { uid = 0, gid = 0 } = owner ?? {}
  const modified = new Date((times?.modified ?? 0) * 1000)
  const [, day = '', month = '', year = ''] = /^\w+, (\d\d) (\w+) (\d+)/.exec(modified.toUTCString()) ?? []
  // oxlint-disable-next-line berth/clock -- only chooses between two forms of the same time
  const isRecent = Math.abs(Date.now() - modified.getTime()) < HALF_A_YEAR_MS
  const when = `${month} ${day} ${isRecent ? modified.toISOString().slice(11, 16) : year.padStart(5)}`
  const columns = [modeText(mode), '  1', pad(uid, 8), pad(gid, 8), pad(size, 8), when]
  return Buffer.concat([Buffer.from(`${columns.join(' ')} `), name])
}

const HALF_A_YEAR_MS = 182 * 86_400_000
const pad = (value: number, width: number) => String(value).padEnd(width)

const KINDS: Readonly<Record<number, string>> = { 0o4: 'd', 0o10: '-', 0o12: 'l' }

function modeText(mode: number): string {
  const bits = 'rwxrwxrwx'.split('').map((letter, at) => ((mode >> (8 - at)) & 1 ? letter : '-'))
  return (KINDS[mode >> 12] ?? '?') + bits.join('')
}

function attributeBytes({ size, owner, mode, times }: Attributes): Buffer {
  const flags =
    (size === undefined ? 0 : ATTRIBUTE.size) |
    (owner ? ATTRIBUTE.owner : 0) |
    (mode === undefined ? 0 : ATTRIBUTE.mode) |
    (times ? ATTRIBUTE.times : 0)
  return Buffer.concat([
    uint32(flags),
    ...(size === undefined ? [] : [uint64(size)]),
    ...(owner ? [uint32(owner.uid, owner.gid)] : []),
    ...(mode === undefined ? [] : [uint32(mode)]),
    ...(times ? [uint32(seconds(times.accessed), seconds(times.modified))] : []),
  ])
}

/** Times before 1970 and after 2106 cannot be represented in this version. */
const seconds = (time: number) => Math.min(0xffff_ffff, Math.max(0, Math.trunc(time)))

/** @see statvfs(3) for the fields and flags */
function statsBytes(stats: FileSystemStats): Buffer {
  const { blockSize, blocks, freeBlocks, availableBlocks, files, freeFiles } = stats
  const ST_NOSUID = 2
  return uint64(
    ...[blockSize, blockSize, blocks, freeBlocks, availableBlocks],
    ...[files, freeFiles, freeFiles, 0, ST_NOSUID, LONGEST_NAME],
  )
}

const LONGEST_NAME = 255

function packet(type: number, fields: readonly Buffer[]): Buffer {
  const length = fields.reduce((sum, field) => sum + field.length, 1)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(length)
  head[4] = type
  return Buffer.concat([head, ...fields])
}

function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => bytes.writeUInt32BE(value >>> 0, 4 * at))
  return bytes
}

function uint64(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length)
  values.forEach((value, at) => bytes.writeBigUInt64BE(BigInt(Math.max(0, Math.trunc(value))), 8 * at))
  return bytes
}

const bytesField = (bytes: Buffer) => Buffer.concat([uint32(bytes.length), bytes])
const text = (value: string) => bytesField(Buffer.from(value))
