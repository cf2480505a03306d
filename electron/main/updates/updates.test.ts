import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { publicHalf, signManifest } from '../../../build/updates/sign.ts'
import { questions, stub } from '../../../test/fixtures/electron-stub.ts'
import { openSettingsFile } from '../settings/settings-file.ts'
import { createUpdates } from './updates.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-updates-'))
  stub.questions.length = 0
  stub.answer = 1
})
afterEach(() => rm(dir, { recursive: true }))

const key = generateKeyPairSync('ed25519').privateKey
const file = {
  platform: 'linux',
  arch: 'x64',
  kind: 'deb' as const,
  name: 'berth.deb',
  sizeBytes: 11,
  sha512: createHash('sha512').update('the new app').digest('hex'),
}
const list = (version: string) =>
  signManifest({ version, serial: 3, expiresAt: '2999-01-01T00:00:00.000Z', files: [file] }, key, [])

async function someUpdates(answer: (url: string) => Promise<string>, version = '1.0.0') {
  return createUpdates({
    source: { url: 'https://updates.example/list', publicKey: publicHalf(key) },
    version,
    platform: { os: 'linux', arch: 'x64', kinds: ['deb'] },
    folder: path.join(dir, 'updates'),
    settings: await openSettingsFile(path.join(dir, 'desktop.json')),
    fetch: async url => new Response(await answer(String(url))),
    questions,
    showFile: () => undefined,
    language: () => 'en',
    log: { warn: () => undefined },
  })
}

test('a user who asks while the app looks by itself gets the answer', async () => {
  const asked = Promise.withResolvers<string>()
  const updates = await someUpdates(() => asked.promise, '9.0.0')
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  updates.begin()
  vi.advanceTimersByTime(60_000)
  vi.useRealTimers()
  const answered = updates.check()
  asked.resolve(list('9.0.0'))
  await answered
  updates[Symbol.dispose]()
  expect(stub.questions.map(({ message }) => message)).toEqual(['Berth 9.0.0 is the newest version.'])
})

test('a download of an older version is removed when a newer one has taken its place', async () => {
  await mkdir(path.join(dir, 'updates/8.0.0'), { recursive: true })
  const updates = await someUpdates(url => Promise.resolve(url.endsWith('/list') ? list('9.0.0') : 'the new app'))
  await updates.check()
  expect(stub.questions[0]?.message).toBe('Berth 9.0.0 is ready to install.')
  expect(await readdir(path.join(dir, 'updates'))).toEqual(['9.0.0'])
})
