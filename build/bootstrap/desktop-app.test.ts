import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startConnectProxy } from '../../test/fixtures/connect-proxy.ts'
import { cleanEnvironment } from '../../test/fixtures/environment.ts'
import { ensureElectron } from './desktop-app.ts'
import { ROOT } from './image-recipes.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'berth-test-fetch-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Fetches with this text as the script of Electron's package. */
async function fetchWith(script: string, { limitMs = 20_000, again = false, env = process.env } = {}) {
  await writeFile(path.join(folder, 'install.js'), script)
  return ensureElectron({ note: () => undefined, signal: new AbortController().signal, limitMs, again, folder, env })
}
const WORKS = `
  const fs = require('node:fs'), path = require('node:path')
  fs.mkdirSync(path.join(__dirname, 'dist'), { recursive: true })
  fs.writeFileSync(path.join(__dirname, 'dist/electron'), '')
  fs.writeFileSync(path.join(__dirname, 'path.txt'), 'electron')`

test('Electron is fetched once, and then found without running anything', async () => {
  expect(await fetchWith(WORKS)).toBe(path.join(folder, 'dist/electron'))
  expect(await fetchWith(`throw new Error('a second download')`)).toBe(path.join(folder, 'dist/electron'))
})

test('a download that failed is not tried at each start, but when it is asked for', async () => {
  const refused = fetchWith(`throw new Error('getaddrinfo ENOTFOUND far.example')`)
  await expect(refused).rejects.toMatchObject({ hint: expect.stringContaining('ENOTFOUND far.example') as string })
  await expect(fetchWith(WORKS)).rejects.toMatchObject({ hint: expect.stringContaining('ENOTFOUND') as string })
  expect(await fetchWith(WORKS, { again: true })).toBe(path.join(folder, 'dist/electron'))
})

test('the download goes by the proxy of the network, tells its refusal, and is tried again by another proxy', async () => {
  const original = path.join(ROOT, 'node_modules/electron')
  for (const name of ['package.json', 'checksums.json'])
    await copyFile(path.join(original, name), path.join(folder, name))
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const script = await readFile(path.join(original, 'install.js'), 'utf8')
  await using first = await startConnectProxy()
  await using second = await startConnectProxy()
  await using third = await startConnectProxy()
  for (const proxy of [first, second, third]) proxy.refuse('403 Not for you')
  const clean = { ...cleanEnvironment(), electron_config_cache: path.join(folder, 'cache') }
  const by = (env: Record<string, string>) =>
    fetchWith(script, { env: { ...clean, ...env } }).catch((error: unknown) => error)
  expect(await by({ HTTPS_PROXY: first.url })).toMatchObject({ hint: expect.stringMatching(/403|Proxy/) as string })
  expect(first.asked.map(({ place }) => place)).toEqual(['github.com:443'])
  expect(await by({ HTTPS_PROXY: first.url })).toMatchObject({ message: 'not fetched' })
  expect(first.asked).toHaveLength(1)
  expect(await by({ https_proxy: second.url })).toMatchObject({ message: 'could not be fetched' })
  // npm's own setting, in the form in which npm passes it to scripts.
  await by({ npm_config_https_proxy: third.url })
  expect([second.asked.length, third.asked.length]).toEqual([1, 1])
  expect(await readFile(path.join(folder, '.fetch-failed'), 'utf8')).not.toContain(third.url)
})

test('a download that hangs ends at its time limit', async () => {
  await mkdir(path.join(folder, 'dist'))
  await expect(fetchWith('setInterval(() => {}, 1000)', { limitMs: 300 })).rejects.toMatchObject({
    hint: 'no answer within 0.3 s',
  })
})
