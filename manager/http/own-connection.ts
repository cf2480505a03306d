import { type Duplex, duplexPair } from 'node:stream'

/**
 * A connection inside this process: the server's end looks like a socket as far as an HTTP server and its handlers use one. Bytes wait as in
 * any other connection, so a slow reader slows the writer down.
 *
 * @param address of the client for whom the connection is, for limits and the audit log
 */
export function createOwnConnection(address: string): { readonly client: Duplex; readonly server: Duplex } {
  const [client, server] = duplexPair()
  const nothing = () => server
  Object.assign(server, {
    remoteAddress: address,
    setNoDelay: nothing,
    setKeepAlive: nothing,
    setTimeout: nothing,
    destroySoon: () => server.end(),
    resetAndDestroy: () => server.destroy(),
  })
  Object.assign(client, {
    setNoDelay: nothing,
    setKeepAlive: nothing,
    setTimeout: nothing,
    ref: nothing,
    unref: nothing,
  })
  // An end of a pair does not hear that the other was destroyed.
  client.once('close', () => server.destroy())
  server.once('close', () => {
    if (!client.destroyed) client.push(null)
  })
  client.on('error', () => undefined)
  server.on('error', () => undefined)
  return { client, server }
}
