import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { isOfOtherUser, peerIn, uidOfPeer } from './peer-uid.ts'
import { readTcpTables } from './tcp-table.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, remote: string, uid: number, state = '01') =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 4711 1\n`
const CLIENT = 0x9c40
const SERVER = 0x20d0
/** The connection as the server sees it. */
const ends = (remoteAddress: string, localAddress = remoteAddress) => ({
  ...{ remoteAddress, localAddress },
  ...{ remotePort: CLIENT, localPort: SERVER },
})
const FOUR = ends('127.0.0.1')
const SIX = '00000000000000000000000001000000'

test('the user of the client is found in the tables of IPv4 and IPv6', () => {
  expect(peerIn(HEAD + row('0100007F:9C40', '0100007F:20D0', 1000), FOUR)).toBe(1000)
  expect(peerIn(row(`${SIX}:9C40`, `${SIX}:20D0`, 1001), ends('::1'))).toBe(1001)
  const mapped = '0000000000000000FFFF00000100007F'
  expect(peerIn(row(`${mapped}:9C40`, `${mapped}:20D0`, 1002), ends('::ffff:127.0.0.1'))).toBe(1002)
})

test('a connection between other addresses with the same ports is another one', () => {
  const table = row(`${SIX}:9C40`, `${SIX}:20D0`, 1001)
  expect(peerIn(table, FOUR)).toBe('hidden')
  expect(peerIn(table, ends('::1'))).toBe(1001)
})

test('a connection without a row, or whose client has ended its direction, hides its user', () => {
  expect(peerIn(HEAD, FOUR)).toBe('hidden')
  expect(peerIn('', FOUR)).toBe('hidden')
  expect(peerIn(row('0100007F:20D0', '0100007F:9C40', 0), FOUR)).toBe('hidden')
  for (const state of ['04', '05', '06', '07', '08', '09'])
    expect(peerIn(row('0100007F:9C40', '0100007F:20D0', 1000, state), FOUR)).toBe('hidden')
  // A closed connection is listed as belonging to root.
  expect(peerIn(row('0100007F:9C40', '0100007F:20D0', 0, '06'), FOUR)).toBe('hidden')
})

test('a client here that connects from an address of the network hides its user', () => {
  expect(peerIn(HEAD, ends('10.0.0.2', '127.0.0.1'))).toBe('hidden')
  expect(peerIn(HEAD, ends('2001:db8::2', '::1'))).toBe('hidden')
  expect(peerIn(HEAD, ends('127.0.0.1', '10.0.0.2'))).toBe('hidden')
})

test('nothing is told of other networks, of users outside the namespace, and without tables', () => {
  expect(peerIn(row('0200000A:9C40', '0300000A:20D0', 1000), ends('10.0.0.2', '10.0.0.3'))).toBeNull()
  const nobody = row('0100007F:9C40', '0100007F:20D0', 65_534)
  expect(peerIn(nobody, FOUR)).toBeNull()
  // Where every user is known, the number is that of the user `nobody`.
  expect(peerIn(nobody, FOUR, true)).toBe(65_534)
  expect(peerIn(undefined, FOUR)).toBeNull()
})

/** The server's end of a connection. */
async function connected(open: (port: number) => Socket): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  stack.defer(() => void server.close())
  await once(server, 'listening')
  const client = open((server.address() as AddressInfo).port)
  stack.defer(() => void client.destroy())
  const [socket] = (await once(server, 'connection')) as [Socket]
  stack.defer(() => void socket.destroy())
  return socket
}

const onLinux = test.runIf(process.platform === 'linux')

onLinux('of a real connection it is our own', async () => {
  const socket = await connected(port => connect(port, '127.0.0.1'))
  expect(await uidOfPeer(socket)).toBe(process.getuid?.())
  expect(await isOfOtherUser(socket)).toBe(false)
})

onLinux('a client that ends its direction with the request counts as another user', async () => {
  const socket = await connected(port => connect(port, '127.0.0.1').end('GET / HTTP/1.1\r\n\r\n'))
  await once(socket.resume(), 'end')
  expect(await uidOfPeer(socket)).toBe('hidden')
  expect(await isOfOtherUser(socket)).toBe(true)
})

const address = Object.values(networkInterfaces())
  .flatMap(one => one ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

test.runIf(process.platform === 'linux' && address !== undefined)(
  'a client here that connects from an address of the network counts as another user',
  async () => {
    const from = { host: '127.0.0.1', localAddress: address ?? '' }
    const socket = await connected(port => connect({ port, ...from }))
    expect(socket.remoteAddress).toBe(address)
    expect(await isOfOtherUser(socket)).toBe(true)
  },
)

test('those who ask for the tables during a read share the next one', async () => {
  const [first, second, third] = [readTcpTables(), readTcpTables(), readTcpTables()]
  expect(second).not.toBe(first)
  expect(third).toBe(second)
  await Promise.all([first, second])
  expect(readTcpTables()).not.toBe(second)
})
