/**
 * The service at the end of the path. The first byte of a connection selects the function: E echoes; S reads until the end and then reports
 * the number of bytes; D and a decimal number sends that many bytes and ends. `node tunnel-service.ts [PORT]`: in a container, on all its
 * addresses; without a port, on the loopback of this machine, and reports its port to the parent.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net'

const BLOCK = Buffer.alloc(64 * 1024, 'b')

const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
  socket.on('error', () => socket.destroy())
  socket.once('data', first => {
    const bytes = first as Buffer
    const rest = bytes.subarray(1)
    if (bytes[0] === 0x45) echo(socket, rest)
    else if (bytes[0] === 0x53) swallow(socket, rest.length)
    else send(socket, Number(rest.toString()))
  })
})

function echo(socket: Socket, rest: Buffer) {
  if (rest.length > 0) socket.write(rest)
  socket.pipe(socket)
}

function swallow(socket: Socket, already: number) {
  let count = already
  socket.on('data', chunk => (count += chunk.length))
  socket.on('end', () => socket.end(String(count)))
}

function send(socket: Socket, total: number) {
  let left = total
  const more = () => {
    while (left > 0) {
      const block = left >= BLOCK.length ? BLOCK : BLOCK.subarray(0, left)
      left -= block.length
      if (!socket.write(block)) {
        socket.once('drain', more)
        return
      }
    }
    socket.end()
  }
  more()
}

const [given] = process.argv.slice(2)
server.listen(Number(given ?? 0), given === undefined ? '127.0.0.1' : '0.0.0.0', 4096, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)
process.on('disconnect', () => process.exit(0))
