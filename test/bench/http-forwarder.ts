/**
 * A minimal HTTP proxy from Node's own parts: a server, a client that keeps its connections, and a pipe each way. No checks, no changes of
 * headers, no handling of failures. `node http-forwarder.ts HOST PORT`: the target. Prints its port to the parent.
 */
import { Agent, createServer, request } from 'node:http'
import { type AddressInfo } from 'node:net'

const [host = '127.0.0.1', port] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, scheduling: 'lifo' })
const server = createServer((incoming, response) => {
  const { method, url: path, rawHeaders: headers } = incoming
  const outgoing = request({ host, port, agent, method, path, headers, setDefaultHeaders: false }, answer => {
    response.sendDate = false
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
  })
  outgoing.on('error', () => response.destroy())
  outgoing.end()
})
server.listen(0, '127.0.0.1', 4096, () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
