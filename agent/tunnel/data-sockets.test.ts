import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:https'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { dialManager } from '../control/link.ts'
import { DATA_PATH } from '#agent/contract'
import { keyFingerprint } from '../control/pinned-tls.ts'
import { createDataSockets } from './data-sockets.ts'

/** A manager behind https with a certificate of its own making, as in a laboratory without an authority. */
let server: Server
let fingerprint: string
const requests: string[] = []

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-tls-'))
  const key = join(folder, 'key.pem')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const certificate = join(folder, 'certificate.pem')
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-new', '-key', key, '-subj', '/CN=manager', '-days', '2', '-out', certificate],
  ])
  const cert = await readFile(certificate, 'utf8')
  fingerprint = keyFingerprint(new X509Certificate(cert))
  server = createServer({ key: await readFile(key), cert })
  const webSockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => undefined)
    if (request.url !== DATA_PATH) {
      webSockets.handleUpgrade(request, socket, head, () => undefined)
      return
    }
    requests.push(request.headers.authorization ?? '')
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: berth-data\r\n\r\n')
  })
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await rm(folder, { recursive: true })
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const log = { debug: () => undefined, warn: () => undefined }
const url = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`
const open = (pinned: string | undefined) =>
  createDataSockets({
    managerUrl: url(),
    fingerprint: pinned,
    dataToken: 'secret-token',
    count: 2,
    serve: () => undefined,
    log,
  })

test('the control connection, too, trusts the pinned key and nobody else', async () => {
  const { signal } = new AbortController()
  using _link = await dialManager({ url: url(), fingerprint, nonce: 'n' }, signal)
  await expect(dialManager({ url: url(), fingerprint: 'ab'.repeat(32), nonce: 'n' }, signal)).rejects.toMatchObject({
    code: 'forbidden',
  })
  await expect(dialManager({ url: url(), fingerprint: undefined, nonce: 'n' }, signal)).rejects.toThrow(/self-signed/)
})

test('a data socket is parked at a manager whose pinned key it is', async () => {
  await using sockets = open(fingerprint)
  await expect.poll(() => sockets.parked).toBe(2)
  expect(requests).toEqual(['Bearer secret-token', 'Bearer secret-token'])
})

test.each([
  ['another key than the pinned one', () => 'ab'.repeat(32)],
  ['a certificate nobody vouches for', () => undefined],
])('a manager with %s never sees the token', async (_what, pinned) => {
  requests.length = 0
  let handshakes = 0
  const count = () => handshakes++
  server.on('connection', count)
  await using sockets = open(pinned())
  await expect.poll(() => handshakes, { timeout: 5_000 }).toBeGreaterThan(3)
  server.off('connection', count)
  expect(sockets.parked).toBe(0)
  expect(requests).toEqual([])
})
