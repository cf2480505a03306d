import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readNpmSettings } from './npm-settings.ts'

test('the registry and the certificates are those that npm on this computer uses', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-'))
  try {
    const cafile = join(folder, 'ca.pem')
    await writeFile(cafile, 'a certificate')
    const env = { PATH: process.env['PATH'], HOME: folder }
    const set = { npm_config_registry: 'https://npm.example.org/', npm_config_cafile: cafile }
    expect(await readNpmSettings({ ...env, ...set })).toEqual({
      registry: 'https://npm.example.org/',
      certificates: 'a certificate',
    })
    expect(await readNpmSettings({ PATH: folder })).toEqual({ certificates: '' })
  } finally {
    await rm(folder, { recursive: true })
  }
})
