import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type Server } from 'node:http'
import { type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../http/create-server.ts'
import { silentLog } from '../log.ts'
import { createStaticFiles } from './static-files.ts'
import { openOwnCertificate } from './tls/own-certificate.ts'
import { tlsOptions } from './tls/tls-server.ts'

const LARGE = Buffer.alloc(16 * 1024 * 1024, 'berth ')

/** Files of a console behind a server with TLS. */
async function startFiles() {
  const directory = await mkdtemp(join(tmpdir(), 'berth-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await mkdir(join(directory, 'page', 'assets'), { recursive: true })
  await writeFile(join(directory, 'page', 'assets', 'large.js'), LARGE)
  const certificate = await openOwnCertificate(join(directory, 'tls'), ['localhost'], new Date())
  const server: Server = createHttpServer({
    onRequest: createStaticFiles(join(directory, 'page'), silentLog),
    tls: tlsOptions(certificate),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  server.on('secureConnection', (socket: TLSSocket) => void sockets.push(socket))
  return {
    sockets,
    request() {
      const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      onTestFinished(() => void client.destroy())
      client.on('error', () => undefined)
      client.write('GET /assets/large.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      return client
    },
  }
}

test('a reader of a large file over TLS who does not read costs little memory', async () => {
  const { request, sockets } = await startFiles()
  request().pause()
  await expect.poll(() => sockets[0]?.bytesWritten ?? 0).toBeGreaterThan(64 * 1024)
  expect(sockets[0]?.writableLength).toBeLessThan(256 * 1024)
})

test('a large file over TLS arrives whole', async () => {
  const { request } = await startFiles()
  const parts: Buffer[] = []
  for await (const part of request()) parts.push(part as Buffer)
  const all = Buffer.concat(parts)
  expect(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(LARGE)).toBe(true)
})
