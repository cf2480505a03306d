import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { questions, stub } from '../../../test/fixtures/electron-stub.ts'
import { certificatesIn, createExtraAuthorities } from './extra-authorities.ts'
import { openSettingsFile } from './settings-file.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-ca-'))
})
afterEach(() => rm(dir, { recursive: true }))

test('a file without certificates is refused, and the choice before stays', async () => {
  const settings = await openSettingsFile(path.join(dir, 'desktop.json'))
  const authorities = createExtraAuthorities(questions, settings)
  const [good, bad] = [path.join(dir, 'ca.pem'), path.join(dir, 'key.pem')]
  await writeFile(good, rootCertificates.slice(0, 2).join('\n'))
  await writeFile(bad, '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n')
  stub.chosen = undefined
  await authorities.choose()
  expect(settings.current.caFile).toBeNull()
  stub.chosen = good
  await authorities.choose()
  expect(settings.current.caFile).toBe(good)
  stub.chosen = bad
  await expect(authorities.choose()).rejects.toMatchObject({ code: 'bad_request' })
  expect(settings.current.caFile).toBe(good)
  await authorities.apply()
})

test('certificates are found among other texts', () => {
  expect(certificatesIn(`# Laboratory\n${rootCertificates[0]!}\n-----BEGIN PRIVATE KEY-----\n`)).toHaveLength(1)
})
