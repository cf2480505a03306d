import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { type Engine, openRelay } from './relay.ts'

const CONNECTED = Buffer.from('2026/11/30 01:44:26 socat[42] N starting data transfer loop with FDs [0,1] and [5,5]\n')
const ENDED = Buffer.from('N socket 2 (fd 5) is at EOF\n')
const KERNEL = { containerId: 'c', user: '1000:1000' }

const opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened.splice(0)) close()
})

/** The engine's framing of an exec without a TTY. @see agent/docker/demux.ts */
function piece(stream: 1 | 2, bytes: Buffer): Buffer {
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([header, bytes])
}

/** An engine whose exec is a connection to `socat`. */
async function engineWith(socat: (exec: Socket) => void): Promise<Engine> {
  const server = createServer({ allowHalfOpen: true }, socat).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(() => server.close())
  const start = () => Promise.resolve(connect((server.address() as AddressInfo).port, '127.0.0.1'))
  return { getContainer: () => ({ exec: () => Promise.resolve({ start }) }) } as unknown as Engine
}

test('a slow reader gets everything that a service sent before it closed', async () => {
  const engine = await engineWith(exec => {
    exec.on('error', () => undefined).write(piece(2, CONNECTED))
    exec.end(Buffer.concat([piece(1, Buffer.alloc(200_000, 65)), piece(2, ENDED)]))
  })
  const stream = await openRelay(engine, KERNEL, 80)
  opened.push(() => stream.destroy())
  let bytes = 0
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length
    for (let i = 0; i < 50; i++) await turn()
  }
  expect(bytes).toBe(200_000)
})

test('the socat of a client that leaves is killed inside the container where this computer does not have the process', async () => {
  const commands: string[][] = []
  const relay = await engineWith(exec => void exec.on('error', () => undefined).write(piece(2, CONNECTED)))
  const engine = {
    getContainer: () => ({
      exec: (options: { Cmd: string[] }) => {
        commands.push(options.Cmd)
        const { exec } = relay.getContainer('c') as unknown as { exec: () => Promise<object> }
        return exec().then(one => ({ ...one, inspect: () => Promise.resolve({ Running: false, Pid: 0 }) }))
      },
    }),
  } as unknown as Engine
  const stream = await openRelay(engine, KERNEL, 80)
  stream.destroy()
  await expect.poll(() => commands.at(-1)?.slice(-2)).toEqual(['relay', '42'])
  expect(commands).toHaveLength(2)
})

test('a relay to a closed port is refused with the message of socat', async () => {
  const engine = await engineWith(exec => exec.end(piece(2, Buffer.from('E connect: Connection refused'))))
  await expect(openRelay(engine, KERNEL, 80)).rejects.toThrow(/ended.*refused/)
})
