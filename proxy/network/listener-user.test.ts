import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { foreignListener, listenerToRemember, refuseForeignListener } from './listener-user.ts'

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, uid: number, state = '0A') =>
  `   1: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 4711 1\n`
const PORT = 0x20d0
const V4 = '0100007F:20D0'
const ANY_4 = '00000000:20D0'
const V6 = '00000000000000000000000001000000:20D0'
const ANY_6 = `${'0'.repeat(32)}:20D0`
const MAPPED = '0000000000000000FFFF00000100007F:20D0'
const [OWN, BERTH, OTHER] = [1000, 997, 1001]

test.each<[string, string, string, number | undefined]>([
  ['another user at the address', `http://127.0.0.1:${PORT}`, row(V4, OTHER), OTHER],
  ['at all addresses', `http://127.0.0.1:${PORT}`, row(ANY_4, OTHER), OTHER],
  ['at all addresses of both kinds', `http://127.0.0.1:${PORT}`, row(ANY_6, OTHER), OTHER],
  ['at the address within IPv6', `http://127.0.0.1:${PORT}`, row(MAPPED, OTHER), OTHER],
  ['at another loopback address that is meant', `http://127.0.0.2:${PORT}`, row('0200007F:20D0', OTHER), OTHER],
  ['at IPv6', `http://[::1]:${PORT}`, row(V6, OTHER), OTHER],
  ['at one of the two of a name', `http://localhost:${PORT}`, row(V4, OWN) + row(V6, OTHER), OTHER],
  ['at the other of them', `http://berth.localhost:${PORT}`, row(V4, OTHER) + row(V6, OWN), OTHER],
  ['at the port that a URL leaves out', 'http://127.0.0.1', row('0100007F:0050', OTHER), OTHER],
  ['this user', `http://127.0.0.1:${PORT}`, row(V4, OWN), undefined],
  ['root', `http://localhost:${PORT}`, row(V4, 0) + row(V6, 0), undefined],
  ['the user of the sign-in', `http://127.0.0.1:${PORT}`, row(ANY_6, BERTH), undefined],
  ['nobody', `http://127.0.0.1:${PORT}`, HEAD, undefined],
  ['no table', `http://127.0.0.1:${PORT}`, '', undefined],
  ['another port', `http://127.0.0.1:${PORT}`, row('0100007F:20D1', OTHER), undefined],
  ['another address', `http://127.0.0.1:${PORT}`, row('0200007F:20D0', OTHER), undefined],
  ['IPv6 beside our IPv4', `http://127.0.0.1:${PORT}`, row(V4, OWN) + row(ANY_6, OTHER), undefined],
  ['a connection', `http://127.0.0.1:${PORT}`, row(V4, OTHER, '01'), undefined],
  ['another computer', `http://10.0.0.2:${PORT}`, row(ANY_4, OTHER), undefined],
  ['TLS, which proves the server', `https://127.0.0.1:${PORT}`, row(V4, OTHER), undefined],
])('who listens: %s', (_who, endpoint, table, refused) => {
  expect(foreignListener(HEAD + table, new URL(endpoint), { own: OWN, listener: BERTH })).toBe(refused)
})

test('a sign-in without a known user is for this user and root only', () => {
  const url = new URL(`http://127.0.0.1:${PORT}`)
  expect(foreignListener(row(V4, BERTH), url, { own: OWN, listener: undefined })).toBe(BERTH)
})

test('at a server of our own nothing is refused, and nothing remembered', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await refuseForeignListener(endpoint, undefined)
  expect(await listenerToRemember(endpoint)).toBeUndefined()
  server.close()
})
