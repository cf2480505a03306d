/**
 * The yardstick of tunnels: a plain TCP relay, `socket.pipe` both ways, in a process of its own. Prints its port
 * to the parent. `node relay.ts HOST PORT`: where it forwards to.
 */
import { connect, createServer, type AddressInfo } from 'node:net'

const [host = '127.0.0.1', port] = process.argv.slice(2)
const server = createServer({ allowHalfOpen: true, noDelay: true }, client => {
  const upstream = connect({ port: Number(port), host, allowHalfOpen: true, noDelay: true })
  client.pipe(upstream)
  upstream.pipe(client)
  client.on('error', () => upstream.destroy())
  upstream.on('error', () => client.destroy())
})
server.listen(0, '127.0.0.1', 4096, () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
