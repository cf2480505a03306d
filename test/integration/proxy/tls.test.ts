import { once } from 'node:events'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { type IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { createServer, connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readCertificateFiles } from '../../../proxy/web/tls/certificate-files.ts'
import { openOwnCertificate } from '../../../proxy/web/tls/own-certificate.ts'
import { type TlsConfig } from '../../../proxy/web/tls/tls-config.ts'
import { silentLog } from '../../../proxy/log.ts'
import { createAuthority } from '../../fixtures/authority.ts'
import { openssl } from '../../fixtures/openssl.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { ask, startWebConsole } from '../../fixtures/web-console.ts'

/** TLS of the console's own server, with real certificates. */

const NAMES = ['localhost', '127.0.0.1', '::1', 'berth.example.org']

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const start = (tls: TlsConfig) => startWebConsole(stack, { tls })
type Console = Awaited<ReturnType<typeof start>>

/** Like a client that trusts only this server. */
async function askTls(
  { web }: Pick<Console, 'web'>,
  path: string,
  options: { method?: string; headers?: Record<string, string>; agent?: Agent } = {},
) {
  const { headers = {}, method = 'GET', agent } = options
  const sent = httpsRequest({
    host: '127.0.0.1',
    port: web.port,
    servername: 'localhost',
    ca: web.certificate?.current.cert,
    method,
    path,
    agent: agent ?? false,
    headers: { host: `localhost:${web.port}`, ...headers },
  })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

test('a client that ends its side of TLS with its request gets the whole answer', async () => {
  const { web } = await start({ source: 'own', names: NAMES })
  const ca = web.certificate?.current.cert
  const options = { port: web.port, host: '127.0.0.1', servername: 'localhost', ca, allowHalfOpen: true }
  const socket = connectTls(options)
  socket.end(`GET /api/v1/me HTTP/1.1\r\nHost: localhost:${web.port}\r\n\r\n`)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n0\r\n\r\n$/)
})

test('the console speaks TLS with a certificate that it makes, and tells the manager so', async () => {
  const made = await start({ source: 'own', names: NAMES })
  expect(made.web.url).toBe(`https://localhost:${made.web.port}`)
  const page = await askTls(made, '/')
  expect(page).toMatchObject({ status: 200, body: '<!doctype html><title>Berth</title>' })
  // Browsers that insist on https would refuse a certificate that no authority certifies.
  expect(page.headers).not.toHaveProperty('strict-transport-security')
  const origin = `https://localhost:${made.web.port}`
  const echo = await askTls(made, '/api/v1/echo', { method: 'POST', headers: { origin } })
  expect((JSON.parse(echo.body) as { headers: object }).headers).toMatchObject({ 'x-forwarded-proto': 'https' })
  expect(made.web.proxyFaults()).toEqual([])
})

test('WebSockets come through, and requests one after the other on one connection', async () => {
  const made = await start({ source: 'own', names: NAMES })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let time = 0; time < 3; time++) expect((await askTls(made, '/', { agent })).status).toBe(200)
  agent.destroy()
  const socket = new WebSocket(`wss://localhost:${made.web.port}/api/v1/none`, {
    ca: made.web.certificate?.current.cert,
  })
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  expect(answer.statusCode).toBeGreaterThanOrEqual(400)
  answer.destroy()
})

test('a client without TLS is sent to https if it reads, refused if it sends, and never to a foreign name', async () => {
  const { web } = await start({ source: 'own', names: NAMES })
  const read = await ask(web.port, '/sessions?x=1')
  expect(read).toMatchObject({ status: 307, headers: { location: `https://localhost:${web.port}/sessions?x=1` } })
  const sent = await ask(web.port, '/api/v1/auth/login', { method: 'POST', body: '{"password":"x"}' })
  expect(sent).toMatchObject({ status: 400, headers: { 'content-type': 'application/problem+json' } })
  expect(sent.body).toContain(`https://localhost:${web.port}`)
  expect((await ask(web.port, '/', { headers: { host: 'evil.example' } })).status).toBe(403)
})

test('a further port only sends browsers to https', async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port: httpPort } = probe.address() as { port: number }
  await new Promise(closed => probe.close(closed))
  const { web } = await start({ source: 'own', names: NAMES, httpPort })
  const answer = await ask(httpPort, '/x', { headers: { host: 'berth.example.org' } })
  expect(answer).toMatchObject({ status: 307, headers: { location: `https://berth.example.org:${web.port}/x` } })
})

test('what is neither TLS nor HTTP, and silence, end without harm', async () => {
  const made = await start({ source: 'own', names: NAMES })
  const talkers = ['\u0016\u0003garbage', 'SSH-2.0-x\r\n\r\n', '']
  for (const said of talkers) {
    const socket = connectTcp(made.web.port, '127.0.0.1')
    socket.on('error', () => undefined).resume()
    socket.end(said)
    await once(socket, 'close')
  }
  expect((await askTls(made, '/')).status).toBe(200)
})

async function filesOf(names: readonly string[] = []) {
  const authority = stack.use(await createAuthority(names))
  const { path } = stack.use(await temporaryDirectory())
  const files = { certificate: join(path, 'cert.pem'), key: join(path, 'key.pem') }
  const write = async ({ server }: Pick<typeof authority, 'server'>) => {
    await writeFile(files.key, server.key, { mode: 0o600 })
    await writeFile(files.certificate, server.cert)
  }
  await write(authority)
  return { authority, files, write, directory: path }
}

test('a replaced certificate is presented to new connections; open ones go on', async () => {
  const { files, write } = await filesOf()
  const { web } = await start({ source: 'files', names: NAMES, ...files })
  const first = web.certificate?.current.facts.fingerprint
  const shown = async (socket: TLSSocket) => {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()?.fingerprint256
  }
  const dial = () =>
    connectTls({ host: '127.0.0.1', port: web.port, servername: 'localhost', rejectUnauthorized: false })
  const open = dial()
  expect(await shown(open)).toBe(first)
  const next = stack.use(await createAuthority())
  await write(next)
  await expect.poll(() => web.certificate?.current.facts.fingerprint).not.toBe(first)
  const another = dial()
  expect(await shown(another)).toBe(web.certificate?.current.facts.fingerprint)
  another.destroy()
  open.write(`GET / HTTP/1.1\r\nHost: localhost:${web.port}\r\nConnection: close\r\n\r\n`)
  expect(await text(open)).toContain('200 OK')
})

test('files that do not fit each other are told of, and change nothing; the right ones end it', async () => {
  const { files, write, authority } = await filesOf()
  const made = await start({ source: 'files', names: NAMES, ...files })
  const other = stack.use(await createAuthority())
  await writeFile(files.key, other.server.key)
  await expect.poll(() => made.web.certificate?.problem?.why).toContain('does not belong')
  const dialled = connectTls({ host: '127.0.0.1', port: made.web.port, servername: 'localhost', ca: authority.ca })
  await once(dialled, 'secureConnect')
  dialled.destroy()
  await write(other)
  await expect.poll(() => made.web.certificate?.problem).toBeUndefined()
})

const read = (files: { certificate: string; key: string }) => readCertificateFiles(files, new Date(), silentLog)

test('each fault of the files has an error that says what to do', async () => {
  const { files, directory } = await filesOf(['berth.example.org'])
  const made = (name: string) => join(directory, name)
  await openssl(['pkey', '-in', files.key, '-aes256', '-passout', 'pass:secret', '-out', made('encrypted.pem')])
  await openOwnCertificate(made('ended'), ['localhost'], new Date(Date.now() - 400 * 86_400_000))
  const ended = { certificate: made('ended/own-certificate.pem'), key: made('ended/own-key.pem') }
  await openssl(['x509', '-in', files.certificate, '-outform', 'DER', '-out', made('der')])
  await mkdir(made('other'))
  await cp((await filesOf()).files.key, made('other/key.pem'))
  expect((await read(files)).facts.names).toContain('berth.example.org')
  const faults: [Partial<typeof files>, string][] = [
    [{ key: made('encrypted.pem') }, 'openssl pkey'],
    [{ key: made('other/key.pem') }, 'does not belong'],
    [ended, 'Renew it'],
    [{ certificate: made('der') }, 'openssl x509 -inform DER'],
    [{ certificate: made('none.pem') }, 'ENOENT'],
    [{ key: files.certificate }, 'no private key'],
  ]
  for (const [fault, says] of faults) {
    await expect(read({ ...files, ...fault })).rejects.toMatchObject({
      code: 'certificate_unusable',
      detail: { why: expect.stringContaining(says) as string },
    })
  }
})
