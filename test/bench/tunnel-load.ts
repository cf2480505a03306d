import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const BLOCK = Buffer.alloc(64 * 1024, 'u')
const now = () => performance.now()

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** MB/s of one stream from the service to the client. */
export async function measureDown(port: number, bytes: number): Promise<number> {
  const socket = await open(port)
  const begin = now()
  socket.write(`D${bytes}`)
  let got = 0
  socket.on('data', chunk => (got += chunk.length))
  await once(socket, 'end')
  const seconds = (now() - begin) / 1000
  socket.end()
  if (got !== bytes) throw new Error(`${got} of ${bytes} bytes came`)
  return bytes / 1e6 / seconds
}

/** MB/s of one stream from the client to the service, until the service reports that it has received everything. */
export async function measureUp(port: number, bytes: number): Promise<number> {
  const socket = await open(port)
  const begin = now()
  socket.write('S')
  for (let left = bytes; left > 0; left -= BLOCK.length) {
    if (!socket.write(left >= BLOCK.length ? BLOCK : BLOCK.subarray(0, left))) await once(socket, 'drain')
  }
  socket.end()
  const [answer] = (await once(socket, 'data')) as [Buffer]
  const seconds = (now() - begin) / 1000
  if (Number(answer.toString()) !== bytes) throw new Error(`the service got ${answer.toString()} of ${bytes} bytes`)
  return bytes / 1e6 / seconds
}

/** Microseconds of each of `count` 64-byte round trips on one connection. */
export async function measureRoundTrips(port: number, count: number): Promise<number[]> {
  const socket = await open(port)
  const ball = Buffer.alloc(64, 'p')
  const times: number[] = []
  socket.write('E')
  for (let i = 0; i < count; i++) {
    const begin = now()
    socket.write(ball)
    for (let got = 0; got < ball.length;) {
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      got += chunk.length
    }
    times.push((now() - begin) * 1000)
  }
  socket.end()
  socket.resume()
  await once(socket, 'close')
  return times
}

/** Connections per second: connect, one round trip, close; `parallel` at a time. */
export async function measureConnects(port: number, count: number, parallel: number): Promise<number> {
  let left = count
  const begin = now()
  const worker = async () => {
    while (left-- > 0) {
      const socket = await open(port)
      socket.write('Eping')
      await once(socket, 'data')
      socket.end()
      socket.resume()
      await once(socket, 'close')
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return count / ((now() - begin) / 1000)
}

/** Open connections that have completed a round trip and are now silent. */
export async function openIdle(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const batch = await Promise.all(
      Array.from({ length: Math.min(20, count - sockets.length) }, async () => {
        const socket = await open(port)
        socket.write('Eping')
        await once(socket, 'data')
        return socket
      }),
    )
    sockets.push(...batch)
  }
  return sockets
}
