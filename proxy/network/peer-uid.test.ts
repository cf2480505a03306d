import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { isOfOtherUser, uidIn, uidOfPeer } from './peer-uid.ts'

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, remote: string, uid: number, state = '01') =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 4711 1\n`

test('the user of the client is found in the tables of IPv4 and IPv6', () => {
  const four = { from: { address: '127.0.0.1', port: 0x9c40 }, to: { address: '127.0.0.1', port: 0x20d0 } }
  expect(uidIn(HEAD + row('0100007F:9C40', '0100007F:20D0', 1000), four)).toBe(1000)
  const ends = (address: string) => ({ from: { address, port: 0x9c40 }, to: { address, port: 0x20d0 } })
  const six = '00000000000000000000000001000000'
  expect(uidIn(row(`${six}:9C40`, `${six}:20D0`, 1001), ends('::1'))).toBe(1001)
  const mapped = '0000000000000000FFFF00000100007F'
  expect(uidIn(row(`${mapped}:9C40`, `${mapped}:20D0`, 1002), ends('::ffff:127.0.0.1'))).toBe(1002)
})

test('a connection between other addresses with the same ports is another one', () => {
  const six = '00000000000000000000000001000000'
  const table = row(`${six}:9C40`, `${six}:20D0`, 1001)
  const at = (address: string) => ({ from: { address, port: 0x9c40 }, to: { address, port: 0x20d0 } })
  expect(uidIn(table, at('127.0.0.1'))).toBeNull()
  expect(uidIn(table, at('::1'))).toBe(1001)
})

test('the other end, other states, other networks and unknown users count for nothing', () => {
  const ports = { from: { address: '127.0.0.1', port: 0x9c40 }, to: { address: '127.0.0.1', port: 0x20d0 } }
  expect(uidIn(HEAD, ports)).toBeNull()
  expect(uidIn(row('0100007F:20D0', '0100007F:9C40', 0), ports)).toBeNull()
  expect(uidIn(row('0100007F:9C40', '0100007F:20D0', 1000, '06'), ports)).toBeNull()
  expect(uidIn(row('0200000A:9C40', '0300000A:20D0', 1000), ports)).toBeNull()
  expect(uidIn(row('0100007F:9C40', '0100007F:20D0', 65_534), ports)).toBeNull()
})

test.runIf(process.platform === 'linux')('of a real connection it is our own', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  expect(await uidOfPeer(socket)).toBe(process.getuid?.())
  expect(await isOfOtherUser(socket)).toBe(false)
  client.destroy()
  socket.destroy()
  server.close()
})
