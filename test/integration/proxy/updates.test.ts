import { execFile } from 'node:child_process'
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addHandover, describeFile, publicHalf, signHandover, signManifest } from '../../../build/updates/sign.ts'
import { checkUpdates } from '../../../cli/doctor/probe/updates.ts'
import { type KeySeen, checkForUpdate, stageFile, type UpdateFile } from '../../../proxy/updates/index.ts'
import { fingerprintOf, type SignedText } from '../../../proxy/updates/keys.ts'

const run = promisify(execFile)
const SIGN = join(import.meta.dirname, '../../../build/updates/sign.ts')
const OURS = generateKeyPairSync('ed25519')
const publicKey = publicHalf(OURS.privateKey)
/** Keys that follow ours, and a foreign one. */
const [SECOND, THIRD, THEIRS] = [1, 2, 3].map(() => generateKeyPairSync('ed25519').privateKey) as [
  KeyObject,
  KeyObject,
  KeyObject,
]
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
const publish = (change: object = {}, key: KeyObject = OURS.privateKey, handovers: readonly SignedText[] = []) => {
  list = signManifest(manifest(change), key, handovers)
}
const look = (seen: { version?: string; serial?: number; key?: KeySeen } = {}, pinned = publicKey) =>
  checkForUpdate(
    { url, publicKey: pinned },
    { version: '0.1.0', serial: 0, now: new Date('2029-01-01'), ...seen },
    fetch,
  )
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

const toSecond = addHandover([], OURS.privateKey, publicHalf(SECOND))
const toThird = addHandover(toSecond, SECOND, publicHalf(THIRD))
const seenKey = (current: KeyObject): KeySeen => ({
  pinned: fingerprintOf(publicKey),
  current: fingerprintOf(publicHalf(current)),
})

test('the makers hand over to another key, and again; packages with any of the keys follow', async () => {
  publish({}, SECOND, toSecond)
  expect(await look()).toMatchObject({ isNewer: true, key: seenKey(SECOND) })
  publish({}, THIRD, toThird)
  for (const key of [undefined, seenKey(OURS.privateKey), seenKey(SECOND), seenKey(THIRD)])
    expect(await look(key && { key })).toMatchObject({ isNewer: true, key: seenKey(THIRD) })
  // A later package pins a later key; lists seen with the earlier package have no effect on it.
  for (const pinned of [SECOND, THIRD])
    expect(await look({ key: seenKey(THEIRS) }, publicHalf(pinned))).toMatchObject({ isNewer: true })
})

test.each<[string, KeyObject, SignedText[]]>([
  ['of somebody else to himself', THEIRS, [signHandover(publicHalf(THEIRS), THEIRS)]],
  ['of somebody else after a true one', THEIRS, [...toSecond, signHandover(publicHalf(THEIRS), THEIRS)]],
  ['of a key that was replaced', THEIRS, [...toSecond, signHandover(publicHalf(THEIRS), OURS.privateKey)]],
  ['back to a key that was replaced', OURS.privateKey, [...toSecond, signHandover(publicKey, SECOND)]],
  ['with a changed key', THEIRS, [{ ...toSecond[0]!, signed: signHandover(publicHalf(THEIRS), THEIRS).signed }]],
  ['that is missing', THIRD, toSecond],
  ['that the list does not follow', OURS.privateKey, toSecond],
])('a handover %s is refused', async (_, key, handovers) => {
  publish({}, key, handovers)
  await expect(look()).rejects.toMatchObject(refused(/not signed|not handed over|handover of its key is damaged/))
})

test('a key that was replaced, stolen later, neither signs a list nor names another heir to an app that has followed', async () => {
  publish({ serial: 99 }, OURS.privateKey)
  await expect(look({ key: seenKey(SECOND) })).rejects.toMatchObject(refused(/have replaced/))
  publish({ serial: 99 }, THEIRS, [signHandover(publicHalf(THEIRS), OURS.privateKey)])
  await expect(look({ key: seenKey(SECOND) })).rejects.toMatchObject(refused(/have replaced/))
  // The text of a list that the key once signed does not pass as a handover either.
  const { signed, signature } = JSON.parse(
    signManifest({ publicKey: publicHalf(THEIRS) }, OURS.privateKey),
  ) as SignedText
  publish({ serial: 99 }, THEIRS, [{ signed, signature }])
  await expect(look()).rejects.toMatchObject(refused(/not signed/))
})

test('the makers cannot hand over from a key that they have replaced, nor to a text that is no key', () => {
  expect(() => addHandover(toSecond, OURS.privateKey, publicHalf(THIRD))).toThrow('another key')
  expect(() => addHandover(toSecond, SECOND, 'bm8ga2V5')).toThrow('damaged')
})

test('the command of the makers writes the handover and the list, and refuses the key that was replaced', async () => {
  const path = (name: string) => join(folder, name)
  const keys = { 'old.key': OURS.privateKey, 'new.key': SECOND }
  for (const [name, key] of Object.entries(keys))
    await writeFile(path(name), key.export({ type: 'pkcs8', format: 'pem' }))
  const command = (key: keyof typeof keys, ...args: string[]) =>
    run(process.execPath, [SIGN, '--key', path(key), '--handovers', path('handovers.json'), ...args])
  await command('old.key', '--hand-over-to', publicHalf(SECOND))
  const version = ['--version', '0.2.0', '--serial', '8', '--days', '3000', path(NAME)]
  list = (await command('new.key', ...version)).stdout
  expect(await look()).toMatchObject({ isNewer: true, key: seenKey(SECOND), manifest: { files: [file] } })
  await expect(command('old.key', ...version)).rejects.toThrow('the last handover is to another key')
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
  expect(await checkUpdates(packageFile)).toEqual({ status: 'newer', version: '0.1.0', newer: '0.2.0' })
  list = ''
  expect(await checkUpdates(packageFile)).toMatchObject({ status: 'unknown' })
  await writeFile(packageFile, JSON.stringify({ ...about, berthUpdates: undefined }))
  expect(await checkUpdates(packageFile)).toEqual({ status: 'off', version: '0.1.0' })
})
