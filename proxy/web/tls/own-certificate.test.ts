import { X509Certificate } from 'node:crypto'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../test/fixtures/manager.ts'
import { openOwnCertificate } from './own-certificate.ts'

const NAMES = ['localhost', '127.0.0.1', '::1', '*.apps.example.org']
const START = new Date('2026-11-01T00:00:00Z')
const DAY_MS = 86_400_000
const later = (days: number) => new Date(START.getTime() + days * DAY_MS)

test('the certificate is for its names, signed by itself, for a year, and browsers take it for no authority', async () => {
  await using directory = await temporaryDirectory()
  const { cert, facts } = await openOwnCertificate(directory.path, NAMES, START)
  const read = new X509Certificate(cert)
  expect(read.verify(read.publicKey)).toBe(true)
  expect(read.ca).toBe(false)
  expect(read.checkHost('localhost')).toBe('localhost')
  expect(read.checkHost('x.apps.example.org')).toBe('*.apps.example.org')
  expect(read.checkHost('berth.example.org')).toBeUndefined()
  expect([read.checkIP('127.0.0.1'), read.checkIP('::1')]).not.toContain(undefined)
  expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
  expect(read.validToDate).toEqual(later(365))
  expect(facts).toMatchObject({ issuer: 'Berth', isPublic: false, fingerprint: read.fingerprint256 })
})

test('a restart keeps it; near its end, and for other names, it is made anew with the same key', async () => {
  await using directory = await temporaryDirectory()
  const first = await openOwnCertificate(directory.path, NAMES, START)
  expect(await openOwnCertificate(directory.path, NAMES, later(300))).toEqual(first)
  const renewed = await openOwnCertificate(directory.path, NAMES, later(306))
  const named = await openOwnCertificate(directory.path, [...NAMES, 'berth.example.org'], later(306))
  expect(new Set([first, renewed, named].map(({ facts }) => facts.fingerprint)).size).toBe(3)
  expect(new Set([first, renewed, named].map(({ facts }) => facts.keyFingerprint)).size).toBe(1)
  expect(named.facts.names).toContain('berth.example.org')
})

test.runIf(process.platform !== 'win32')(
  'only the owner reads the key, also if somebody has opened it to others',
  async () => {
    await using directory = await temporaryDirectory()
    await openOwnCertificate(directory.path, NAMES, START)
    const file = join(directory.path, 'own-key.pem')
    const mode = async () => (await stat(file)).mode & 0o777
    expect(await mode()).toBe(0o600)
    await chmod(file, 0o644)
    await openOwnCertificate(directory.path, NAMES, START)
    expect(await mode()).toBe(0o600)
  },
)

test('a damaged certificate is made anew; a damaged key stops, because with another key nobody would know the server', async () => {
  await using directory = await temporaryDirectory()
  const first = await openOwnCertificate(directory.path, NAMES, START)
  await writeFile(join(directory.path, 'own-certificate.pem'), 'half a fi')
  const again = await openOwnCertificate(directory.path, NAMES, START)
  expect(again.facts.keyFingerprint).toBe(first.facts.keyFingerprint)
  await writeFile(join(directory.path, 'own-key.pem'), 'nothing')
  await expect(openOwnCertificate(directory.path, NAMES, START)).rejects.toMatchObject({ code: 'certificate_unusable' })
  expect(await readFile(join(directory.path, 'own-key.pem'), 'utf8')).toBe('nothing')
})
