import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { acmeSupply } from '../../../proxy/web/tls/acme/acme-supply.ts'
import { type Supply } from '../../../proxy/web/tls/keeper.ts'
import { openOwnCertificate } from '../../../proxy/web/tls/own-certificate.ts'
import { type TlsConfig } from '../../../proxy/web/tls/tls-config.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { type Pebble, startPebble } from '../../fixtures/pebble.ts'
import { ask, startWebConsole } from '../../fixtures/web-console.ts'

/** Certificates of an authority, ordered from a real ACME server by the real console. */

const HOST = 'berth.example.org'
const NAMES = ['localhost', '127.0.0.1', HOST]

let pebble: Pebble
beforeAll(async () => {
  pebble = await startPebble()
})
afterAll(() => pebble[Symbol.asyncDispose]())

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const byHttp = (): TlsConfig => ({
  source: 'acme',
  names: NAMES,
  httpPort: pebble.httpPort,
  directory: pebble.directory,
  ordered: [HOST],
})
const PATIENT = { timeout: 120_000 }

test('a certificate is ordered by HTTP once the console listens, and kept over a restart', async () => {
  const { web, directory } = await startWebConsole(stack, { tls: byHttp() })
  await expect.poll(() => web.certificate?.current.facts.issuer, PATIENT).toMatch(/^Pebble/)
  expect(web.certificate?.problem).toBeUndefined()
  const { facts } = web.certificate!.current
  expect(facts.names).toEqual([HOST])
  // The proof is public only while the order lasts.
  const asked = await ask(pebble.httpPort, '/.well-known/acme-challenge/x', { headers: { host: HOST } })
  expect(asked.status).toBe(307)
  for (const name of ['acme-account.pem', 'acme-key.pem']) {
    expect((await stat(join(directory, 'tls', name))).mode & 0o777).toBe(0o600)
  }
  await web[Symbol.asyncDispose]()
  const again = await startWebConsole(stack, { tls: byHttp(), dataDir: directory })
  expect(again.web.certificate?.current.facts).toEqual(facts)
  expect(again.web.url).toBe(`https://${HOST}:${again.web.port}`)
})

test('a certificate for a wildcard is ordered by the program that sets TXT records', async () => {
  const ordered = [HOST, '*.apps.example.org']
  const tls: TlsConfig = { ...byHttp(), httpPort: undefined, ordered, dnsHook: pebble.dnsHook } as TlsConfig
  const { web } = await startWebConsole(stack, { tls })
  await expect.poll(() => web.certificate?.current.facts.names.toSorted(), PATIENT).toEqual(ordered.toSorted())
})

test('a refused order keeps the certificate of our own, and says why and what to do', async () => {
  // Nothing listens at the address that the authority checks.
  const { web, directory } = await startWebConsole(stack, { tls: { ...byHttp(), httpPort: undefined } as TlsConfig })
  await expect
    .poll(() => web.certificate?.problem?.why, PATIENT)
    .toMatch(/did not issue a certificate for berth\.example\.org: .*port 80/s)
  expect(web.certificate?.current.facts.issuer).toBe('Berth')
  // The pause survives a restart, which must not use up the limits of the authority.
  const failures = join(directory, 'tls', 'acme-failures.json')
  const before = await readFile(failures, 'utf8')
  await web[Symbol.asyncDispose]()
  const again = await startWebConsole(stack, {
    tls: { ...byHttp(), httpPort: undefined } as TlsConfig,
    dataDir: directory,
  })
  await expect.poll(() => again.web.certificate?.problem?.why, PATIENT).toContain('did not issue')
  expect(await readFile(failures, 'utf8')).toBe(before)
})

test('a program that fails is named with what it printed', async () => {
  const { path } = stack.use(await temporaryDirectory())
  const dnsHook = join(path, 'hook')
  await writeFile(dnsHook, '#!/bin/sh\necho the provider of the DNS is away >&2\nexit 3\n', { mode: 0o755 })
  const { web } = await startWebConsole(stack, { tls: { ...byHttp(), httpPort: undefined, dnsHook } as TlsConfig })
  await expect.poll(() => web.certificate?.problem?.why, PATIENT).toContain('the provider of the DNS is away')
})

test('a renewal comes after two thirds of the time, with the same key; when it fails, the old one stays', async () => {
  const { path: directory } = stack.use(await temporaryDirectory())
  const start = new Date('2026-11-01T00:00:00Z')
  const days = (count: number) => new Date(start.getTime() + count * 86_400_000)
  let fails = false
  let orders = 0
  const looks: Date[] = []
  const own: Supply = { kind: 'own', check: now => openOwnCertificate(join(directory, 'own'), ['localhost'], now) }
  const config = { directory: 'https://authority.example/dir', ordered: [HOST] }
  /** Replaces the authority, whose certificates last longer than a test. */
  const order = async (_config: unknown, keys: { certificate: string }) => {
    orders++
    if (fails) throw new Error('away')
    const issued = join(directory, `issued-${orders}`)
    return await issueWith(issued, keys.certificate, looks.at(-1) ?? start)
  }
  const supply = acmeSupply(config, { directory, challenges: new Map(), own, order })
  const check = (now: Date) => {
    looks.push(now)
    return supply.check(now)
  }
  expect((await check(start)).facts.names).toEqual(['localhost'])
  const first = await check(start)
  expect(first.facts.names).toEqual([HOST])
  expect(await check(days(200))).toBe(first)
  fails = true
  await expect(check(days(280))).rejects.toThrow()
  await expect(check(days(280))).rejects.toThrow('away')
  expect(orders).toBe(2)
  fails = false
  const renewed = await check(days(281))
  expect(renewed.facts.fingerprint).not.toBe(first.facts.fingerprint)
  expect(renewed.facts.keyFingerprint).toBe(first.facts.keyFingerprint)
})

/** A certificate of a year for HOST, with this key. */
async function issueWith(directory: string, key: string, now: Date): Promise<string> {
  await mkdir(directory)
  await writeFile(join(directory, 'own-key.pem'), key, { mode: 0o600 })
  return (await openOwnCertificate(directory, [HOST], now)).cert
}
