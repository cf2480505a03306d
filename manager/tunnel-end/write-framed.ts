import {
  type ApplyMask,
  encodeFrame,
  headerLength,
  isZero,
  type MaskKey,
  OPCODE,
  writeHeader,
} from '#manager/contract/light'
import { type TunnelSocket } from './tunnel-end-options.ts'

/** Payloads up to this size are copied behind their header if there are no free bytes before them: one write costs less than two. */
const COPIED_BYTES = 16 * 1024

/** Bytes of one read: `from` to `to` of the slab. The bytes before `from` are free for the header. */
interface ReadBytes {
  readonly slab: Uint8Array
  readonly from: number
  readonly to: number
}

/**
 * Writes the bytes of one read as one binary frame, with as few copies and system calls as possible. If there are free bytes for the header
 * before them, they are masked in place.
 *
 * @returns false if the wire is full and will emit `drain`
 */
export function writeFramed(
  wire: Pick<TunnelSocket, 'write' | 'cork' | 'uncork'>,
  { slab, from, to }: ReadBytes,
  mask: MaskKey | undefined,
  masking: { readonly apply: ApplyMask },
): boolean {
  const header = { opcode: OPCODE.binary, length: to - from, mask }
  const isMasked = mask !== undefined && !isZero(mask)
  const start = from - headerLength(header)
  if (start >= 0) {
    if (isMasked) masking.apply(slab.subarray(from, to), mask)
    writeHeader(slab.subarray(start, from), header)
    return wire.write(slab.subarray(start, to))
  }
  if (isMasked || header.length <= COPIED_BYTES) {
    // These bytes are not ours, so they must not be masked in place.
    return wire.write(encodeFrame(OPCODE.binary, slab.subarray(from, to), mask, masking))
  }
  const bytes = new Uint8Array(headerLength(header))
  writeHeader(bytes, header)
  wire.cork()
  wire.write(bytes)
  const takesMore = wire.write(slab.subarray(from, to))
  wire.uncork()
  return takesMore
}
