import { expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { SftpConnection } from './connection.ts'
import { PacketReader } from './packet-reader.ts'
import { STATUS } from './protocol.ts'
import { ReadMemory } from './read-memory.ts'

const INIT = packet(1, uint32(3))

function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => bytes.writeUInt32BE(value, 4 * at))
  return bytes
}
function packet(type: number, ...fields: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.of(type), ...fields])
  return Buffer.concat([uint32(body.length), body])
}
const text = (value: string) => Buffer.concat([uint32(value.length), Buffer.from(value)])
const read = (id: number, at: number, length: number, handle = '0') =>
  packet(5, uint32(id), text(handle), uint32(0, at, length))
const write = (id: number, at: number, data: string) => packet(6, uint32(id), text('0'), uint32(0, at), text(data))
const stat = (id: number) => packet(17, uint32(id), text('/x'))

function open() {
  const replies: { type: number; id: number; rest: Buffer }[] = []
  const reader = new PacketReader()
  const operations = {
    answer: vi.fn(() => Promise.resolve({ kind: 'handle', handle: '0' } as const)),
    read: vi.fn((_handle: string, position: number, into: readonly Uint8Array[]) => {
      into.forEach(part => part.fill(97 + (position % 26)))
      return Promise.resolve(into.reduce((sum, part) => sum + part.length, 0))
    }),
    write: vi.fn((_handle: string, _position: number, _parts: readonly Uint8Array[]) => Promise.resolve()),
  }
  const [onDrain, onBroken, onUnexpected] = [vi.fn(), vi.fn(), vi.fn()]
  const connection = new SftpConnection({
    operations,
    send: bytes =>
      reader.push(bytes, one => replies.push({ type: one[0] ?? 0, id: one.readUInt32BE(1), rest: one.subarray(5) })),
    onDrain,
    onBroken,
    onUnexpected,
  })
  connection.push(INIT)
  return { connection, operations, replies, onDrain, onBroken, onUnexpected }
}

test('adjacent writes become one call, and each is answered; a gap begins another call', async () => {
  const { connection, operations, replies } = open()
  connection.push(Buffer.concat([write(1, 0, 'ab'), write(2, 2, 'cd'), write(3, 4, 'e'), write(4, 9, 'x')]))
  await connection.drained()
  const written = operations.write.mock.calls.map(([, position, parts]) => [position, Buffer.concat(parts).toString()])
  expect(written).toEqual([
    [0, 'abcde'],
    [9, 'x'],
  ])
  expect(replies.slice(1).map(({ id }) => id)).toEqual([1, 2, 3, 4])
})

test('adjacent reads become one call; the later ones get the end of the file', async () => {
  const { connection, operations, replies } = open()
  operations.read.mockImplementation((_handle, position, into) => {
    const content = Buffer.from('abc').subarray(position)
    let at = 0
    for (const part of into) at += content.copy(part, 0, at)
    return Promise.resolve(Math.min(at, content.length))
  })
  connection.push(Buffer.concat([read(1, 0, 2), read(2, 2, 2), read(3, 4, 2)]))
  await connection.drained()
  expect(operations.read.mock.calls.map(([, position]) => position)).toEqual([0])
  const [, one, two, three] = replies
  expect(one).toMatchObject({ type: 103, id: 1 })
  expect(two?.rest.readUInt32BE()).toBe(1)
  expect(three).toMatchObject({ type: 101, id: 3 })
  expect(three?.rest.readUInt32BE()).toBe(STATUS.eof)
})

test.each<[string, (id: number) => Buffer]>([
  ['reads up to the end, across it and beyond it', id => read(id, [0, 40, 60, 100, 200][id % 5] ?? 0, 60)],
  ['reads of two files', id => read(id, 100 * (id % 3), 50, String(id % 2))],
  [
    'reads among writes, refusals and others',
    id =>
      [read(id, 0, 50), read(id, 70, 50), read(id, 150, 50), write(id, 10 * id, 'a'), stat(id), packet(4, uint32(id))][
        id % 6
      ] ?? stat(id),
  ],
])('answers come in the order of the requests, whichever is ready first: %s', async (_, requestOf) => {
  const { connection, operations, replies } = open()
  // Every other read takes its time.
  let isSlow = false
  operations.read.mockImplementation(async (_handle, position, into) => {
    isSlow = !isSlow
    for (let round = 0; isSlow && round < 50; round++) await Promise.resolve()
    const wanted = into.reduce((sum, part) => sum + part.length, 0)
    return Math.max(0, Math.min(100 - position, wanted))
  })
  const ids = Array.from({ length: 16 }, (_, id) => id)
  connection.push(Buffer.concat(ids.map(requestOf)))
  await connection.drained()
  expect(replies.slice(1).map(({ id }) => id)).toEqual(ids)
})

test('a read that failed is answered in its turn', async () => {
  const { connection, operations, replies } = open()
  const gate = Promise.withResolvers<number>()
  operations.read.mockImplementationOnce(() => gate.promise).mockRejectedValueOnce(new AppError('forbidden', {}))
  connection.push(Buffer.concat([read(1, 0, 5), read(2, 500, 5)]))
  await new Promise(resolve => setImmediate(resolve))
  expect(operations.read).toHaveBeenCalledTimes(2)
  expect(replies).toHaveLength(1)
  gate.resolve(5)
  await connection.drained()
  expect(replies.slice(1).map(({ id, type }) => [id, type])).toEqual([
    [1, 103],
    [2, 101],
  ])
})

test('requests take effect in order: a stat waits for the writes before it', async () => {
  const { connection, operations } = open()
  const done: string[] = []
  const gate = Promise.withResolvers<undefined>()
  operations.write.mockImplementation(async () => {
    await gate.promise
    done.push('write')
  })
  operations.answer.mockImplementation(() => {
    done.push('stat')
    return Promise.resolve({ kind: 'handle', handle: '0' } as const)
  })
  connection.push(Buffer.concat([write(1, 0, 'a'), stat(2)]))
  await new Promise(resolve => setImmediate(resolve))
  expect(done).toEqual([])
  gate.resolve(undefined)
  await connection.drained()
  expect(done).toEqual(['write', 'stat'])
})

test('a client that does not read is served no further, and a client that floods is read no further', async () => {
  const { connection, operations, onDrain } = open()
  connection.pause()
  const flood = Buffer.concat(Array.from({ length: 300 }, (_, id) => stat(id)))
  expect(connection.push(flood)).toBe(false)
  await new Promise(resolve => setImmediate(resolve))
  expect(operations.answer).not.toHaveBeenCalled()
  connection.resume()
  await connection.drained()
  expect(operations.answer).toHaveBeenCalledTimes(300)
  expect(onDrain).toHaveBeenCalledTimes(1)
})

test.each([
  ['long handles', packet(8, uint32(1), text('h'.repeat(250 * 1024)))],
  ['short paths in long packets', packet(17, uint32(1), text('/x'), Buffer.alloc(250 * 1024))],
])('requests that wait hold little memory: %s', (_of, request) => {
  const { connection } = open()
  connection.pause()
  let pushed = 1
  while (connection.push(request) && pushed < 300) pushed++
  expect(pushed).toBeLessThan(20)
})

test('errors become the status codes that programs know; an unknown error reveals nothing', async () => {
  const { connection, operations, replies, onUnexpected } = open()
  operations.answer
    .mockRejectedValueOnce(new AppError('file_not_found', { why: 'no such file' }))
    .mockRejectedValueOnce(new AppError('forbidden', { why: 'read-only' }))
    .mockRejectedValueOnce(new Error('secret text'))
  connection.push(Buffer.concat([stat(1), stat(2), stat(3)]))
  await connection.drained()
  expect(replies.slice(1).map(({ rest }) => rest.readUInt32BE())).toEqual([
    STATUS.noSuchFile,
    STATUS.permissionDenied,
    STATUS.failure,
  ])
  expect(replies[1]?.rest.toString()).toContain('no such file')
  expect(replies[3]?.rest.toString()).not.toContain('secret')
  expect(onUnexpected).toHaveBeenCalledOnce()
})

test('bytes before INIT, and packets of a wrong length, end the connection; an invalid request does not', async () => {
  const { connection, replies, onBroken } = open()
  connection.push(packet(4, uint32(5)))
  await connection.drained()
  expect(replies.at(-1)).toMatchObject({ type: 101, id: 5 })
  expect(replies.at(-1)?.rest.readUInt32BE()).toBe(STATUS.badMessage)
  expect(onBroken).not.toHaveBeenCalled()
  connection.push(uint32(0))
  expect(onBroken).toHaveBeenCalledOnce()

  const early = vi.fn()
  const deps = { operations: open().operations, send: vi.fn(), onDrain: vi.fn(), onUnexpected: vi.fn() }
  new SftpConnection({ ...deps, onBroken: early }).push(stat(1))
  expect(early).toHaveBeenCalledOnce()
})

test('closing waits for the operation in flight and drops the others', async () => {
  const { connection, operations, replies } = open()
  const gate = Promise.withResolvers<undefined>()
  operations.write.mockImplementation(() => gate.promise)
  connection.push(Buffer.concat([write(1, 0, 'a'), stat(2)]))
  let isOver = false
  const ending = connection.end().then(() => (isOver = true))
  await new Promise(resolve => setImmediate(resolve))
  expect(isOver).toBe(false)
  gate.resolve(undefined)
  await ending
  expect(operations.answer).not.toHaveBeenCalled()
  expect(replies).toHaveLength(1)
})

test('memory of large reads is used again once the kernel has the bytes, and not before', () => {
  let isFlushed = false
  const memory = new ReadMemory(1024 * 1024, () => isFlushed)
  const [first, second] = [memory.take(300_000), memory.take(200_000)]
  memory.giveBack(first)
  expect(memory.take(300_000).buffer).not.toBe(first.buffer)
  isFlushed = true
  const third = memory.take(500_000)
  expect([third.buffer, third.length]).toEqual([first.buffer, 500_000])
  expect(third.buffer).not.toBe(second.buffer)
  // Small reads have memory of their own.
  memory.giveBack(second)
  expect(memory.take(1_000).buffer.byteLength).toBe(1_000)
})
