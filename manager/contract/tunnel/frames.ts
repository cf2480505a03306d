/** WebSocket frames (RFC 6455, section 5.2), as far as a tunnel needs them: no extensions, so no reserved bits. */
export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const
export type Opcode = (typeof OPCODE)[keyof typeof OPCODE]

/** Four bytes. The key 0,0,0,0 is legal and changes nothing, so neither end needs to touch the payload. */
export type MaskKey = Uint8Array
export const ZERO_MASK: MaskKey = new Uint8Array(4)

/** XORs `bytes` in place with the key, starting at the key's first byte (`bufferutil.unmask` has this form). */
export type ApplyMask = (bytes: Uint8Array, key: MaskKey) => void

export const applyMask: ApplyMask = (bytes, key) => {
  const [a = 0, b = 0, c = 0, d = 0] = key
  const keys = [a, b, c, d]
  for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) ^ (keys[i & 3] ?? 0)
}

export const MAX_CONTROL_PAYLOAD = 125
/** Longest header: two bytes, a 64-bit length, a mask key. */
export const MAX_HEADER = 14

export interface FrameHeader {
  readonly opcode: Opcode
  /** Bytes of payload. */
  readonly length: number
  /** Clients mask (section 5.1), servers never do. */
  readonly mask?: MaskKey | undefined
  /** False while fragments follow. */
  readonly fin?: boolean
}

function lengthBytes(length: number): 0 | 2 | 8 {
  return length < 126 ? 0 : length < 65_536 ? 2 : 8
}

export function headerLength({ length, mask }: Pick<FrameHeader, 'length' | 'mask'>): number {
  return 2 + lengthBytes(length) + (mask ? 4 : 0)
}

/** Writes the header at the start of `target`, which must have `headerLength` free bytes. The payload is not touched. */
export function writeHeader(target: Uint8Array, { opcode, length, mask, fin = true }: FrameHeader): void {
  const extended = lengthBytes(length)
  target[0] = (fin ? 0x80 : 0) | opcode
  target[1] = (mask ? 0x80 : 0) | (extended === 0 ? length : extended === 2 ? 126 : 127)
  for (let i = 0, rest = length; i < extended; i++, rest = Math.floor(rest / 256)) target[1 + extended - i] = rest % 256
  if (mask) target.set(mask, 2 + extended)
}

/** A whole frame in one piece; the payload is copied and, with a mask, masked. For small and for control frames. */
export function encodeFrame(
  opcode: Opcode,
  payload: Uint8Array,
  mask?: MaskKey,
  { fin = true, apply = applyMask }: { fin?: boolean; apply?: ApplyMask | undefined } = {},
): Uint8Array {
  const header = { opcode, length: payload.length, mask, fin }
  const start = headerLength(header)
  const frame = new Uint8Array(start + payload.length)
  writeHeader(frame, header)
  frame.set(payload, start)
  if (mask && !isZero(mask)) apply(frame.subarray(start), mask)
  return frame
}

/** Payload of a close frame (section 5.5.1): the code, then a short ASCII reason. */
export function closePayload(code: number, reason = ''): Uint8Array {
  const payload = new Uint8Array(2 + Math.min(reason.length, MAX_CONTROL_PAYLOAD - 2))
  payload[0] = code >> 8
  payload[1] = code & 0xff
  for (let i = 2; i < payload.length; i++) payload[i] = reason.charCodeAt(i - 2) & 0x7f
  return payload
}

/** Code of a close frame; 1005 stands for "none given" (section 7.1.5) and never crosses the wire. */
export const NO_CLOSE_CODE = 1005
export function closeCode(payload: Uint8Array): number {
  const [high, low] = payload
  return high === undefined || low === undefined ? NO_CLOSE_CODE : high * 256 + low
}

/** Close codes that may be sent (section 7.4): 1004–1006 and 1015 are reserved; below 1000 and above 4999 nothing is defined. */
export function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999)
}

export function isZero(mask: MaskKey): boolean {
  return mask[0] === 0 && mask[1] === 0 && mask[2] === 0 && mask[3] === 0
}

/** Text frames of the protocol are ASCII; other characters become `?` and so match none of our words. */
export function ascii(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.map(byte => (byte < 0x80 ? byte : 0x3f)))
}

export function toAscii(text: string): Uint8Array {
  return Uint8Array.from(text, character => character.charCodeAt(0) & 0x7f)
}
