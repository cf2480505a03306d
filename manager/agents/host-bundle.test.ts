import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../log.ts'
import { createHostBundles } from './host-bundle.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(directory, { recursive: true, force: true }))

/** A program in place of the one that packs the installation. */
async function open(text: string) {
  const program = join(directory, 'make.mjs')
  await writeFile(program, text)
  return createHostBundles({ directory: join(directory, 'bundles'), log: silentLog, program })
}

const SHA256 = 'ab'.repeat(32)
const MAKES = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
const folder = process.argv[2]
mkdirSync(folder, { recursive: true })
appendFileSync(folder + '/../runs', '.')
writeFileSync(folder + '/${SHA256}.tar.gz', 'bundle')
console.log(JSON.stringify({ file: '${SHA256}.tar.gz', sha256: '${SHA256}', bytes: 6, digest: '${'cd'.repeat(32)}', toolbox: 'berth/toolbox:1' }))`

test('a bundle is made once, for all that ask; those of earlier starts are removed', async () => {
  await using first = await open(MAKES)
  await first.get()
  await writeFile(join(directory, 'bundles', 'old.tar.gz'), '')
  await using bundles = await open(MAKES)
  const [one, two] = await Promise.all([bundles.get(), bundles.get()])
  expect(one).toEqual({
    path: join(directory, 'bundles', `${SHA256}.tar.gz`),
    sha256: SHA256,
    bytes: 6,
    digest: 'cd'.repeat(32),
  })
  expect(await bundles.get()).toBe(two)
  expect(bundles.find(SHA256)).toBe(one)
  expect(() => bundles.find('00'.repeat(32))).toThrow(expect.objectContaining({ code: 'not_found' }))
  expect(await readdir(join(directory, 'bundles'))).toEqual([`${SHA256}.tar.gz`])
  expect((await readdir(directory)).includes('runs')).toBe(true)
})

test('a failure is the server’s, and the next call tries again', async () => {
  await using bundles = await open(`process.stderr.write('no room'); process.exit(1)`)
  await expect(bundles.get()).rejects.toMatchObject({ code: 'unavailable', detail: { cause: 'host_bundle_not_made' } })
  await writeFile(join(directory, 'make.mjs'), MAKES)
  expect((await bundles.get()).sha256).toBe(SHA256)
})

test('closing ends the program', async () => {
  const bundles = await open('setInterval(() => undefined, 1000)')
  const asked = bundles.get()
  asked.catch(() => undefined)
  await bundles[Symbol.asyncDispose]()
  await expect(asked).rejects.toMatchObject({ code: 'unavailable' })
})
