import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureElectron } from './desktop-app.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'berth-test-fetch-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Fetches with this text as the script of Electron's package. */
async function fetchWith(script: string, { limitMs = 20_000, again = false } = {}) {
  await writeFile(path.join(folder, 'install.js'), script)
  return ensureElectron({ note: () => undefined, signal: new AbortController().signal, limitMs, again, folder })
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

test('a download that hangs ends at its time limit', async () => {
  await mkdir(path.join(folder, 'dist'))
  await expect(fetchWith('setInterval(() => {}, 1000)', { limitMs: 300 })).rejects.toMatchObject({
    hint: 'no answer within 0.3 s',
  })
})
