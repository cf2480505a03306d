import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:https'
import { type Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocketServer } from 'ws'
import { dialManager } from '../control/link.ts'
import { DATA_PATH } from '#agent/contract'
import { keyFingerprint } from '../control/pinned-tls.ts'
import { createDataSockets, type DataSocketsDeps, SHRINK_AFTER_MS } from './data-sockets.ts'

/** A manager behind https with a self-signed certificate, as in a laboratory without an authority. */
let server: Server
let fingerprint: string
const requests: string[] = []
/** The manager's ends of the data sockets. */
const parked = new Set<Duplex>()

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
    parked.add(socket)
    const gone = () => {
      parked.delete(socket)
      socket.destroy()
    }
    socket.on('end', gone).on('close', gone).resume()
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
const open = (pinned: string | undefined, more: Partial<DataSocketsDeps> = {}) =>
  createDataSockets({
    managerUrl: url(),
    fingerprint: pinned,
    dataToken: 'secret-token',
    count: 2,
    serve: () => undefined,
    log,
    ...more,
  })

test('the control connection too trusts only the pinned key', async () => {
  const { signal } = new AbortController()
  using _link = await dialManager({ url: url(), fingerprint, nonce: 'n' }, signal)
  await expect(dialManager({ url: url(), fingerprint: 'ab'.repeat(32), nonce: 'n' }, signal)).rejects.toMatchObject({
    code: 'forbidden',
  })
  await expect(dialManager({ url: url(), fingerprint: undefined, nonce: 'n' }, signal)).rejects.toThrow(/self-signed/)
})

test('a data socket is parked at the manager with the pinned key', async () => {
  requests.length = 0
  await using sockets = open(fingerprint)
  await expect.poll(() => sockets.parked).toBe(2)
  // A socket that could not be opened in time is opened again.
  expect(requests.length).toBeGreaterThanOrEqual(2)
  expect(new Set(requests)).toEqual(new Set(['Bearer secret-token']))
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
  await expect.poll(() => handshakes).toBeGreaterThan(3)
  server.off('connection', count)
  expect(sockets.parked).toBe(0)
  expect(requests).toEqual([])
})

test('excess parked sockets after a burst of tunnels are closed on both sides; open tunnels are not affected', async () => {
  // Only the timer for shrinking is fake: a machine under load opens the sockets of a burst slowly.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  parked.clear()
  const served: Socket[] = []
  await using sockets = open(fingerprint, { serve: (_header, socket) => void served.push(socket) })
  const header = JSON.stringify({
    kind: 'app',
    kernelId: '01900000-0000-7000-8000-000000000002',
    app: 'web',
    framed: true,
  })
  const taken = new Set<Duplex>()
  const free = () => [...parked].filter(socket => !taken.has(socket))
  // Each burst takes all parked sockets, so that more are parked the next time.
  for (const count of [2, 4]) {
    await expect.poll(() => [sockets.parked, free().length]).toEqual([count, count])
    for (const socket of free()) {
      taken.add(socket)
      socket.write(`${header}\n`)
    }
    await expect.poll(() => served.length).toBe(taken.size)
  }
  await expect.poll(() => [sockets.parked, free().length]).toEqual([8, 8])
  // Half of them are closed each time.
  vi.advanceTimersByTime(SHRINK_AFTER_MS)
  await expect.poll(() => [sockets.parked, free().length]).toEqual([4, 4])
  vi.advanceTimersByTime(SHRINK_AFTER_MS)
  await expect.poll(() => [sockets.parked, free().length]).toEqual([2, 2])
  vi.advanceTimersByTime(SHRINK_AFTER_MS)
  await expect.poll(() => [sockets.parked, free().length]).toEqual([2, 2])
  expect(served).toHaveLength(taken.size)
  expect(served.filter(socket => socket.destroyed)).toEqual([])
  for (const socket of served) socket.destroy()
})
