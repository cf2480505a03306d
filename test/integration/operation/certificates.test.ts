import { request as httpRequest } from 'node:http'
import { once } from 'node:events'
import { type IncomingMessage } from 'node:http'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { type CertificateReport, CONSOLE_SECRET_HEADER } from '#manager/contract'
import { startWeb } from '../../../proxy/web/server.ts'
import { CONSOLE_SECRET, startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'

/** The manager's handling of the certificates that consoles report. */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

test('a console reports its certificate; agents that join by its name pin the key', async () => {
  const manager = stack.use(await startTestManager({ advertiseUrl: 'https://berth.example.org:8400' }))
  const { api } = await manager.signIn()
  const invited = async () => {
    const { join } = await api.createJoinToken({ body: {} })
    const text = Buffer.from(join.replace('berth-join:', ''), 'base64url').toString()
    return JSON.parse(text) as { fingerprint?: string }
  }
  expect((await api.listCertificates()).items).toEqual([])
  expect(await invited()).not.toHaveProperty('fingerprint')

  const { path: dataDir } = stack.use(await temporaryDirectory())
  const config = { dataDir, port: 0, managerUrl: manager.url, consoleDir: dataDir, version: '0' }
  const tls = { source: 'own', names: ['localhost', 'berth.example.org'] } as const
  const more = { allowedHosts: ['berth.example.org'], consoleSecret: CONSOLE_SECRET, tls }
  const web = stack.use(await startWeb({ ...config, ...more }, pino({ level: 'silent' })))
  await expect.poll(async () => (await api.listCertificates()).items).toHaveLength(1)
  const { facts } = web.certificate!.current
  expect((await api.listCertificates()).items[0]).toMatchObject({
    ...facts,
    source: 'own',
    state: 'good',
    problem: null,
  })
  expect((await invited()).fingerprint).toBe(facts.keyFingerprint)
})

const REPORT: CertificateReport = {
  source: 'acme',
  names: ['berth.example.org'],
  issuer: 'An authority',
  fingerprint: 'AB:CD',
  keyFingerprint: '0'.repeat(64),
  notBefore: '2026-01-01T00:00:00.000Z',
  notAfter: '2999-01-01T00:00:00.000Z',
  isPublic: true,
  problem: null,
}

test('superadmins are told once of each trouble; nobody but the console reports', async () => {
  const manager = stack.use(await startTestManager())
  const { api, token } = await manager.signIn()
  const send = async (report: CertificateReport, headers: Record<string, string>) => {
    const { host, port } = new URL(manager.url)
    const path = '/console/v1/certificates/head-8400'
    const sent = httpRequest({ host: '127.0.0.1', port, method: 'PUT', path, headers: { host, ...headers } })
    sent.setHeader('content-type', 'application/json')
    sent.end(JSON.stringify(report))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response.resume().statusCode
  }
  const say = (report: Partial<CertificateReport>) =>
    send({ ...REPORT, ...report }, { [CONSOLE_SECRET_HEADER]: CONSOLE_SECRET })
  const told = async () => (await api.listMessages()).items.map(({ about, text }) => [about, text])

  expect(await send(REPORT, { authorization: `Bearer ${token}` })).toBe(403)
  expect(await say({})).toBe(204)
  expect(await told()).toEqual([])
  const problem = 'The authority could not reach port 80.'
  expect([await say({ problem }), await say({ problem })]).toEqual([204, 204])
  expect(await told()).toEqual([['certificate', expect.stringContaining(problem) as string]])
  expect((await api.listCertificates()).items).toMatchObject([{ console: 'head-8400', state: 'failed', problem }])
  await say({})
  await say({ notAfter: '2026-02-01T00:00:00.000Z' })
  expect(await told()).toHaveLength(2)
  expect((await told())[0]?.[1]).toContain('ended on 2026-02-01')
})
