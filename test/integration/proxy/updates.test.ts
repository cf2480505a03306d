import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { describeFile, signManifest } from '../../../build/updates/sign.ts'
import { lookAtUpdates } from '../../../cli/doctor/look/updates.ts'
import { lookForUpdate, stageFile, type UpdateFile } from '../../../proxy/updates/index.ts'

const OURS = generateKeyPairSync('ed25519')
const publicKey = OURS.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
const PACKAGE = Buffer.alloc(300_000, 'berth')
const NAME = 'berth_0.2.0_amd64.deb'

let folder: string
let list: string
let served: Buffer
const server = createServer((request, response) => response.end(request.url === '/updates.json' ? list : served))
let url: string
let file: UpdateFile

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-test-updates-'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/updates.json`
  await writeFile(join(folder, NAME), PACKAGE)
  file = (await describeFile(join(folder, NAME))) as UpdateFile
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true })
})
beforeEach(() => {
  served = PACKAGE
})

const manifest = (change: object = {}) => ({
  version: '0.2.0',
  serial: 7,
  expiresAt: '2030-01-01T00:00:00.000Z',
  files: [file],
  ...change,
})
const publish = (change: object = {}, key: KeyObject = OURS.privateKey) => {
  list = signManifest(manifest(change), key)
}
const look = (seen: { version?: string; serial?: number } = {}) =>
  lookForUpdate({ url, publicKey }, { version: '0.1.0', serial: 0, now: new Date('2029-01-01'), ...seen }, fetch)
const refused = (why: RegExp) => ({ code: 'forbidden', message: expect.stringMatching(why) as string })

test('a signed list names a newer version', async () => {
  publish()
  expect(await look({ serial: 7 })).toMatchObject({
    isNewer: true,
    manifest: { version: '0.2.0', files: [{ name: NAME }] },
  })
})

test.each(['0.2.0', '0.2.1', '0.10.0', '1.0.0'])('version %s is never followed by 0.2.0', async version => {
  publish()
  expect(await look({ version })).toMatchObject({ isNewer: false })
})

test('a list signed by another key, changed after it was signed, or signed for something else is refused', async () => {
  publish({}, generateKeyPairSync('ed25519').privateKey)
  await expect(look()).rejects.toMatchObject(refused(/not signed/))
  publish()
  const { signature } = JSON.parse(list) as { signature: string }
  list = JSON.stringify({
    signed: Buffer.from(JSON.stringify(manifest({ version: '9.0.0' }))).toString('base64'),
    signature,
  })
  await expect(look()).rejects.toMatchObject(refused(/not signed/))
  const bytes = Buffer.from(JSON.stringify(manifest()))
  const { sign } = await import('node:crypto')
  list = JSON.stringify({
    signed: bytes.toString('base64'),
    signature: sign(null, bytes, OURS.privateKey).toString('base64'),
  })
  await expect(look()).rejects.toMatchObject(refused(/not signed/))
})

test('a truncated list, an endless one and a page are refused', async () => {
  publish()
  list = list.slice(0, -20)
  await expect(look()).rejects.toMatchObject(refused(/damaged/))
  list = '<html>sign in to the network</html>'
  await expect(look()).rejects.toMatchObject(refused(/damaged/))
  list = 'x'.repeat(300_000)
  await expect(look()).rejects.toMatchObject(refused(/too long/))
})

test('an old list, replayed, and one that has expired are refused', async () => {
  publish({ serial: 6 })
  await expect(look({ serial: 7 })).rejects.toMatchObject(refused(/older than one that was seen/))
  publish({ expiresAt: '2028-12-31T00:00:00.000Z' })
  await expect(look()).rejects.toMatchObject(refused(/expired/))
})

test('a name that leaves the folder is refused, although it is signed', async () => {
  publish({ files: [{ ...file, name: '../../.bashrc' }] })
  await expect(look()).rejects.toMatchObject(refused(/does not understand/))
})

test('a file is staged whole with the signed hash, once; forged, longer and truncated ones leave nothing', async () => {
  const stage = () =>
    stageFile({ file, listUrl: url, folder: join(folder, 'staged'), fetch, signal: AbortSignal.timeout(20_000) })
  for (const bad of [Buffer.alloc(PACKAGE.length, 'other'), Buffer.concat([PACKAGE, PACKAGE]), PACKAGE.subarray(1)]) {
    served = bad
    await expect(stage()).rejects.toMatchObject({ code: 'forbidden' })
    expect(await readdir(join(folder, 'staged'))).toEqual([])
  }
  served = PACKAGE
  const path = await stage()
  expect(
    createHash('sha512')
      .update(await readFile(path))
      .digest('hex'),
  ).toBe(file.sha512)
  served = Buffer.from('nothing more is fetched')
  expect(await stage()).toBe(path)
})

test('berth doctor says what the list says, and nothing where the package names none', async () => {
  const packageFile = join(folder, 'package.json')
  const about = { version: '0.1.0', berthUpdates: { url, publicKey } }
  await writeFile(packageFile, JSON.stringify(about))
  publish()
  expect(await lookAtUpdates(packageFile)).toEqual({ status: 'newer', version: '0.1.0', newer: '0.2.0' })
  list = ''
  expect(await lookAtUpdates(packageFile)).toMatchObject({ status: 'unknown' })
  await writeFile(packageFile, JSON.stringify({ ...about, berthUpdates: undefined }))
  expect(await lookAtUpdates(packageFile)).toEqual({ status: 'off', version: '0.1.0' })
})
