import { randomBytes } from 'node:crypto'

/**
 * A new UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, then random bits, so that ids sort by age. The milliseconds come from the
 * clock of this process: use them only to sort lists, not as a time of record.
 *
 * @param schema the id's schema from the contract, e.g. `newId(UserId)`; it brands the result
 */
export function newId<T>(schema: { parse(text: string): T }): T {
  return schema.parse(newUuid())
}

/** A UUIDv7 without a brand. */
export function newUuid(now = Date.now()): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now, 0, 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
