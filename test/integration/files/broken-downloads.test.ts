import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type ApiClient, type Folder } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { startWebConsole } from '../../fixtures/web-console.ts'

/** Answers that break off in the middle: curl, the manager and the console's forwarder must all take them for failures. */

const MIB = 2 ** 20
const LARGE = 96 * MIB
/** Exit codes of curl: the transfer ended before its end was announced; the receiving failed. */
const BROKEN = [18, 56]

let manager: TestManager
let owner: ApiClient
let token: string
let folder: Folder
let directory: string
const stack = new AsyncDisposableStack()
/** The console, which forwards to the manager. */
let base: string
beforeAll(async () => {
  manager = stack.use(await startTestManager({ timings: { recheckMs: 50 } }))
  ;({ api: owner, token } = await manager.addUser('reader@example.org'))
  folder = await owner.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
  const { web } = await startWebConsole(stack, { managerUrl: manager.url })
  base = `http://localhost:${web.port}`
})
afterAll(() => stack.disposeAsync())

/** Downloads slowly with curl while something happens. @returns exit code of curl and bytes that it has written */
async function download(url: string, bearer: string, meanwhile: () => Promise<unknown>) {
  const target = await mkdtemp(join(tmpdir(), 'berth-test-broken-'))
  onTestFinished(() => rm(target, { recursive: true }))
  const file = join(target, 'file')
  const args = ['-sS', '--fail', '--limit-rate', '20M', '-H', `authorization: Bearer ${bearer}`, '-o', file, url]
  const got = promisify(execFile)('curl', args).then(
    () => 0,
    (error: unknown) => Number((error as { code: unknown }).code),
  )
  await expect
    .poll(() =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    )
    .toBeGreaterThan(MIB)
  await meanwhile()
  return { code: await got, size: (await stat(file)).size }
}

test('a file that gets shorter while it is sent is no short file to curl', async () => {
  await writeFile(join(directory, 'shrinks'), Buffer.alloc(LARGE, 1))
  const url = `${base}/api/v1/folders/${folder.id}/content?path=shrinks`
  const { code, size } = await download(url, token, () => truncate(join(directory, 'shrinks'), MIB))
  expect(BROKEN).toContain(code)
  expect(size).toBeLessThan(LARGE)
})

test('an archive whose reader signs out while it is sent is no short archive to curl', async () => {
  const guest = await manager.addUser('guest@example.org')
  const own = await guest.api.createFolder({ body: { name: 'own' } })
  const place = join(manager.dataDir, 'storage', 'folders', own.id)
  await mkdir(join(place, 'many'))
  for (let index = 0; index < 3; index++) await writeFile(join(place, 'many', `${index}`), Buffer.alloc(LARGE / 3, 1))
  const url = `${base}/api/v1/folders/${own.id}/archive?path=many`
  const { code, size } = await download(url, guest.token, () => guest.api.logout())
  expect(BROKEN).toContain(code)
  expect(size).toBeLessThan(LARGE)
})
