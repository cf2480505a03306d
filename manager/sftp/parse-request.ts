import { type Attributes, type Request, TYPE } from './protocol.ts'

/** A packet whose fields are cut short or out of range. The connection continues. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest'
  /** Id of the request; undefined if the packet is too short for one. */
  readonly id: number | undefined
  constructor(id: number | undefined, message: string) {
    super(message)
    this.id = id
  }
}

/** First packet of a connection. @returns version that the client speaks; undefined if the packet is another one */
export function parseInit(packet: Buffer): number | undefined {
  return packet.length >= 5 && packet[0] === TYPE.init ? packet.readUInt32BE(1) : undefined
}

/** @param packet without its length; parts of it are in the request @throws BadRequest */
export function parseRequest(packet: Buffer): Request {
  if (packet.length < 5) throw new BadRequest(undefined, 'The packet has no request id.')
  const id = packet.readUInt32BE(1)
  const fields = new Fields(packet, id)
  const type = packet.readUInt8(0)
  switch (type) {
    case TYPE.open: {
      const path = fields.bytes()
      const flags = fields.uint32()
      return { id, kind: 'open', path, flags, attributes: fields.attributes() }
    }
    case TYPE.close:
      return { id, kind: 'close', handle: fields.text() }
    case TYPE.read: {
      const handle = fields.text()
      const position = fields.uint64()
      return { id, kind: 'read', handle, position, length: fields.uint32() }
    }
    case TYPE.write: {
      const handle = fields.text()
      const position = fields.uint64()
      return { id, kind: 'write', handle, position, data: fields.bytes() }
    }
    case TYPE.lstat:
      return { id, kind: 'lstat', path: fields.bytes() }
    case TYPE.stat:
      return { id, kind: 'stat', path: fields.bytes() }
    case TYPE.fstat:
      return { id, kind: 'fstat', handle: fields.text() }
    case TYPE.setstat: {
      const path = fields.bytes()
      return { id, kind: 'setstat', path, attributes: fields.attributes() }
    }
    case TYPE.fsetstat: {
      const handle = fields.text()
      return { id, kind: 'fsetstat', handle, attributes: fields.attributes() }
    }
    case TYPE.opendir:
      return { id, kind: 'opendir', path: fields.bytes() }
    case TYPE.readdir:
      return { id, kind: 'readdir', handle: fields.text() }
    case TYPE.remove:
      return { id, kind: 'remove', path: fields.bytes() }
    case TYPE.mkdir: {
      const path = fields.bytes()
      return { id, kind: 'mkdir', path, attributes: fields.attributes() }
    }
    case TYPE.rmdir:
      return { id, kind: 'rmdir', path: fields.bytes() }
    case TYPE.realpath:
      return { id, kind: 'realpath', path: fields.bytes() }
    case TYPE.readlink:
      return { id, kind: 'readlink', path: fields.bytes() }
    case TYPE.rename: {
      const from = fields.bytes()
      return { id, kind: 'rename', from, to: fields.bytes(), replaces: false }
    }
    case TYPE.symlink:
      return unsupported(id, 'Links cannot be made here.')
    case TYPE.extended:
      return parseExtended(id, fields)
    default:
      return unsupported(id, 'The server does not know this request.')
  }
}

const unsupported = (id: number, message: string): Request => ({ id, kind: 'refused', status: 'unsupported', message })

function parseExtended(id: number, fields: Fields): Request {
  const name = fields.text()
  switch (name) {
    case 'posix-rename@openssh.com': {
      const from = fields.bytes()
      return { id, kind: 'rename', from, to: fields.bytes(), replaces: true }
    }
    case 'statvfs@openssh.com':
      return { id, kind: 'statvfs', path: fields.bytes() }
    case 'fsync@openssh.com':
      return { id, kind: 'fsync', handle: fields.text() }
    case 'limits@openssh.com':
      return { id, kind: 'limits' }
    case 'hardlink@openssh.com':
      return unsupported(id, 'Links cannot be made here.')
    default:
      return unsupported(id, 'The server does not know this extension.')
  }
}

/** Reads the fields of a packet in turn. @see RFC 4251 section 5 for the types */
class Fields {
  readonly #packet: Buffer
  readonly #id: number
  #at = 5

  constructor(packet: Buffer, id: number) {
    this.#packet = packet
    this.#id = id
  }

  #take(length: number): number {
    const at = this.#at
    if (length > this.#packet.length - at) throw new BadRequest(this.#id, 'The packet is cut short.')
    this.#at += length
    return at
  }

  uint32(): number {
    return this.#packet.readUInt32BE(this.#take(4))
  }

  /** A position or size in a file; no file is as large as 2^53 bytes. */
  uint64(): number {
    const value = this.#packet.readBigUInt64BE(this.#take(8))
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadRequest(this.#id, 'No file is that large.')
    return Number(value)
  }

  /** A `string`: its bytes, as a part of the packet's memory. */
  bytes(): Buffer {
    const length = this.uint32()
    const at = this.#take(length)
    return this.#packet.subarray(at, at + length)
  }

  text(): string {
    return this.bytes().toString('latin1')
  }

  attributes(): Attributes {
    const flags = this.uint32()
    const attributes: Attributes = {
      ...(flags & ATTRIBUTE.size ? { size: this.uint64() } : {}),
      ...(flags & ATTRIBUTE.owner ? { owner: { uid: this.uint32(), gid: this.uint32() } } : {}),
      ...(flags & ATTRIBUTE.mode ? { mode: this.uint32() } : {}),
      ...(flags & ATTRIBUTE.times ? { times: { accessed: this.uint32(), modified: this.uint32() } } : {}),
    }
    // Skip pairs of name and value that nobody uses.
    if ((flags & ATTRIBUTE.extended) !== 0) {
      for (let left = this.uint32(); left > 0; left--) {
        this.bytes()
        this.bytes()
      }
    }
    return attributes
  }
}

/** Bits that say which attributes follow. */
export const ATTRIBUTE = { size: 1, owner: 2, mode: 4, times: 8, extended: 0x8000_0000 } as const
