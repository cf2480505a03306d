import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PacketReader, ProtocolError } from './packet-reader.ts'
import { BadRequest, parseInit, parseRequest } from './parse-request.ts'
import { MOST_PACKET_BYTES, type Reply } from './protocol.ts'
import { DATA_HEAD, dataPacket, replyPacket, versionPacket } from './write-reply.ts'

const hex = (text: string) => Buffer.from(text.replace(/\s+/g, ''), 'hex')

describe('exact bytes of requests', () => {
  test('INIT of version 3', () => {
    expect(parseInit(hex('01 00000003'))).toBe(3)
    expect(parseInit(hex('02 00000003'))).toBeUndefined()
    expect(parseInit(hex('01'))).toBeUndefined()
  })

  test('OPEN with permissions, as OpenSSH sends it', () => {
    const packet = hex('03 00000007 00000002 2f61 0000001a 00000004 000081a4')
    expect(parseRequest(packet)).toEqual({
      id: 7,
      kind: 'open',
      path: Buffer.from('/a'),
      flags: 0x1a,
      attributes: { mode: 0o100644 },
    })
  })

  test('SETSTAT with every attribute', () => {
    const packet = hex('09 00000001 00000001 61 0000000f 0000000000000100 000003e8 000003e9 000001a4 00000005 00000006')
    expect(parseRequest(packet)).toMatchObject({
      attributes: { size: 256, owner: { uid: 1000, gid: 1001 }, mode: 0o644, times: { accessed: 5, modified: 6 } },
    })
  })

  test('WRITE: the data is not copied', () => {
    const packet = hex('06 00000002 00000001 30 0000000000000010 00000003 616263')
    const request = parseRequest(packet)
    expect(request).toEqual({ id: 2, kind: 'write', handle: '0', position: 16, data: Buffer.from('abc') })
    expect('data' in request && request.data.buffer).toBe(packet.buffer)
  })

  test.each([
    ['a field that is cut short', '04 00000001 00000005 61'],
    ['a size of 2^63', '05 00000001 00000001 30 8000000000000000 00000001'],
    ['more attribute pairs than there are', '09 00000001 00000001 61 80000000 ffffffff'],
  ])('%s is an invalid request, answered with its id', (_what, bytes) => {
    expect(() => parseRequest(hex(bytes))).toThrow(BadRequest)
    expect(() => parseRequest(hex(bytes))).toThrow(expect.objectContaining({ id: 1 }))
  })

  test('links and unknown requests are recognised as unsupported', () => {
    expect(parseRequest(hex('14 00000001'))).toMatchObject({ kind: 'refused' })
    expect(parseRequest(hex('2a 00000001'))).toMatchObject({ kind: 'refused', status: 'unsupported' })
  })
})

describe('exact bytes of replies', () => {
  test('VERSION names the extensions', () => {
    const packet = versionPacket()
    expect(packet.subarray(4, 9)).toEqual(hex('02 00000003'))
    expect(packet.toString('latin1')).toContain('posix-rename@openssh.com')
    expect(packet.readUInt32BE()).toBe(packet.length - 4)
  })

  test('STATUS, HANDLE, ATTRS and limits', () => {
    const of = (reply: Reply) => replyPacket(9, reply).toString('hex')
    expect(of({ kind: 'status', status: 'eof', message: '!' })).toBe('00000014650000000900000001000000012100000002656e')
    expect(of({ kind: 'handle', handle: 'z' })).toBe('0000000a6600000009000000017a')
    expect(of({ kind: 'attributes', attributes: { size: 1, mode: 0o755 } })).toBe(
      '0000001569000000090000000500000000000000010000' + '01ed',
    )
    expect(of({ kind: 'limits' })).toMatch(/^00000025c9000000090000000000040000/)
  })

  test('NAME has a line in the form of ls', () => {
    const times = { accessed: 0, modified: 1_000_000_000 }
    const attributes = { size: 5, mode: 0o100640, owner: { uid: 1000, gid: 1000 }, times }
    const packet = replyPacket(1, { kind: 'names', entries: [{ name: Buffer.from('a'), attributes }] })
    expect(packet.toString('latin1')).toContain('-rw-r-----   1 1000     1000     5        Sep 09  2001 a')
  })

  test('DATA frames the bytes of the file', () => {
    const bytes = Buffer.alloc(DATA_HEAD + 8, 'x')
    expect(dataPacket(3, bytes, 2)).toEqual(hex('0000000b 67 00000003 00000002 7878'))
  })
})

describe('any bytes', () => {
  const aPacket = fc.uint8Array({ minLength: 1, maxLength: 300 })

  test('packets are read as they were written, however the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(aPacket, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 40 })), (packets, cuts) => {
        const stream = Buffer.concat(
          packets.flatMap(packet => {
            const length = Buffer.alloc(4)
            length.writeUInt32BE(packet.length)
            return [length, packet]
          }),
        )
        const reader = new PacketReader()
        const seen: Buffer[] = []
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const count = cuts[turn % Math.max(1, cuts.length)] ?? 7
          // The reader's caller reuses its buffer.
          const piece = Buffer.from(stream.subarray(at, at + count))
          reader.push(piece, packet => seen.push(packet))
          piece.fill(0)
          at += count
        }
        expect(seen.map(one => one.toString('hex'))).toEqual(packets.map(one => Buffer.from(one).toString('hex')))
      }),
    )
  })

  test('a request is parsed, or refused as invalid, and holds no more than was sent', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), fc.uint8Array({ maxLength: 200 }), (type, rest) => {
        try {
          const request = parseRequest(Buffer.from([type, ...rest]))
          const held = Object.values(request).filter((value): value is Buffer => Buffer.isBuffer(value))
          expect(held.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(rest.length)
        } catch (error) {
          if (!(error instanceof BadRequest)) throw error
        }
      }),
      { numRuns: 3_000 },
    )
  })

  test('lengths of zero and above the limit end the stream', () => {
    for (const length of [0, MOST_PACKET_BYTES + 1, 0xffff_ffff]) {
      const head = Buffer.alloc(4)
      head.writeUInt32BE(length)
      expect(() => new PacketReader().push(head, () => undefined)).toThrow(ProtocolError)
    }
  })
})

const TYPES = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 200, 255] as const
