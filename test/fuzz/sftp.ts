import { AppError } from '#manager/contract'
import { SftpConnection } from '../../manager/sftp/connection.ts'
import { type Random } from './random.ts'
import { type FuzzTarget, within } from './target.ts'

/** The server end of SFTP in this process, on operations that succeed, fail and take time. */
export const sftpTarget: FuzzTarget = {
  name: 'sftp',
  atOnce: 8,
  weight: 8,
  start: () =>
    Promise.resolve({
      input: converse,
      check: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
}

const MOST_ANSWERED = 300 * 1024

/** @throws if a request stays unanswered, there are more answers than requests, or an error is not one of ours */
async function converse(random: Random): Promise<void> {
  let sent = 0
  const fate = { isBroken: false }
  const unexpected: unknown[] = []
  const settle = async <T>(value: T): Promise<T> => {
    if (random.chance(0.3)) await new Promise(resolve => setImmediate(resolve))
    if (random.chance(0.1)) throw new AppError(random.pick(['file_not_found', 'forbidden', 'disk_full']), {})
    return value
  }
  const connection = new SftpConnection({
    operations: {
      answer: () => settle({ kind: 'handle', handle: random.text() } as const),
      read: (_handle, _position, into) => settle(random.int(1 + into.reduce((sum, part) => sum + part.length, 0))),
      write: () => settle(undefined),
    },
    send: bytes => {
      sent += bytes.length
      if (random.chance(0.1)) connection.pause()
    },
    onDrain: () => undefined,
    onBroken: () => void (fate.isBroken = true),
    onUnexpected: error => unexpected.push(error),
  })
  const bytes = Buffer.concat([INIT, ...Array.from({ length: 1 + random.int(20) }, () => aPacket(random))])
  if (random.chance(0.3)) bytes[random.int(bytes.length)] = random.int(256)
  for (let at = 0; at < bytes.length;) {
    const count = 1 + random.int(random.chance(0.5) ? 5 : 400)
    connection.push(bytes.subarray(at, at + count))
    at += count
    if (random.chance(0.2)) await new Promise(resolve => setImmediate(resolve))
  }
  const resuming = setInterval(() => connection.resume(), 1)
  try {
    if (!fate.isBroken && random.chance(0.8)) await within('the answers', connection.drained())
    await within('the end of a connection', connection.end())
  } finally {
    clearInterval(resuming)
  }
  if (unexpected.length > 0) throw unexpected[0]
  if (sent > 20 * MOST_ANSWERED) throw new Error(`${sent} bytes were sent`)
}

const INIT = Buffer.from([0, 0, 0, 5, 1, 0, 0, 0, 3])

/** A packet, mostly with fields that fit its type. */
function aPacket(random: Random): Buffer {
  const text = (bytes: Buffer) => Buffer.concat([uint32(bytes.length), bytes])
  const field = () =>
    random.pick([
      () => text(random.bytes(random.int(40))),
      () => uint32(random.int(5)),
      () => uint32(0, random.int(100_000)),
      () => text(Buffer.from(random.pick(['/', '..', 'data/x', 'statvfs@openssh.com', 'limits@openssh.com']))),
      () => random.bytes(random.int(20)),
    ])()
  const type = random.chance(0.9)
    ? random.pick([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 200])
    : random.int(256)
  const fields = Array.from({ length: random.int(6) }, field)
  const body = Buffer.concat([Buffer.of(type), uint32(random.int(1000)), ...fields])
  return Buffer.concat([uint32(body.length), body])
}

function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => bytes.writeUInt32BE(value, 4 * at))
  return bytes
}
