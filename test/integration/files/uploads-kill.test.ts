import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { defined } from '#base/defined'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { DEFAULT_BACKEND, openDatabase } from '../../fixtures/database.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

const MiB = 1024 * 1024
const MAIN = join(import.meta.dirname, '../../../manager/main.ts')

/** A manager as a process, which can be killed. */
async function spawnManager(environment: NodeJS.ProcessEnv): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...cleanEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, url: (JSON.parse(line) as { url: string }).url }
}

/** Safe to repeat. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const environmentOf = (dataDir: string, databaseUrl: string | undefined) => ({
  BERTH_DATA: dataDir,
  BERTH_ADMIN_PASSWORD: ADMIN.password,
  BERTH_LOG: 'error',
  ...defined({ DATABASE_URL: databaseUrl }),
})

test('a manager that is killed during an upload loses no acknowledged byte, and the next one continues', async () => {
  await using data = await temporaryDirectory()
  await using database = await openDatabase(DEFAULT_BACKEND)
  const environment = environmentOf(data.path, database.url)
  const content = randomBytes(16 * MiB)
  const half = 8 * MiB
  const first = await spawnManager(environment)
  const { token } = await apiOf(first.url).login({ body: { ...ADMIN, kind: 'token' } })
  const headers = { authorization: `Bearer ${token ?? ''}`, 'tus-resumable': '1.0.0' }
  const folder = await apiOf(first.url, token ?? '').createFolder({ body: { name: 'data' } })
  const created = await rawRequest(`${first.url}/api/v1/folders/${folder.id}/uploads`, {
    method: 'POST',
    headers: {
      ...headers,
      'upload-length': String(content.length),
      'upload-metadata': [
        `path ${Buffer.from('big.bin').toString('base64')}`,
        `sha256 ${Buffer.from(createHash('sha256').update(content).digest('hex')).toString('base64')}`,
      ].join(','),
    },
  })
  const path = created.headers.location ?? ''
  const patching = request(first.url + path, {
    method: 'PATCH',
    headers: {
      ...headers,
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': content.length,
    },
  })
  patching.on('error', () => undefined)
  patching.write(content.subarray(0, half))
  const part = join(data.path, 'storage', 'uploads', String(created.json?.id))
  await expect.poll(async () => (await stat(part)).size).toBeGreaterThan(MiB)
  await kill(first.child)

  const second = await spawnManager(environment)
  try {
    const head = await rawRequest(second.url + path, { method: 'HEAD', headers })
    const offset = Number(head.headers['upload-offset'])
    expect(offset).toBeGreaterThan(MiB)
    expect(offset).toBeLessThanOrEqual(half)
    // The right of the killed writer ends on its own within ten seconds.
    const goOn = () =>
      rawRequest(second.url + path, {
        method: 'PATCH',
        headers: { ...headers, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
        body: content.subarray(offset),
      })
    await expect.poll(async () => (await goOn()).status, { interval: 1_000 }).toBe(204)
    const file = await readFile(join(data.path, 'storage', 'folders', folder.id, 'big.bin'))
    expect(file.equals(content)).toBe(true)
  } finally {
    await kill(second.child)
  }
})

test('a manager that is killed while it clones a folder leaves no part of it: the next one deletes the folder', async () => {
  await using data = await temporaryDirectory()
  await using database = await openDatabase(DEFAULT_BACKEND)
  const environment = environmentOf(data.path, database.url)
  const folders = join(data.path, 'storage', 'folders')
  await using started = new AsyncDisposableStack()
  const first = await spawnManager(environment)
  started.defer(() => kill(first.child))
  const { token } = await apiOf(first.url).login({ body: { ...ADMIN, kind: 'token' } })
  const api = apiOf(first.url, token ?? '')
  const { id } = await api.createFolder({ body: { name: 'large' } })
  await writeFile(join(folders, id, 'sparse'), '')
  await truncate(join(folders, id, 'sparse'), 64 * 2 ** 30)
  const { folder: half, task } = await api.cloneFolder({ params: { id }, body: { name: 'half' } })
  expect(half.cloning).toBe(true)
  const again = { params: { id: half.id }, body: { name: 'half-of-half' } }
  await expect(api.cloneFolder(again)).rejects.toMatchObject({ code: 'folder_incomplete' })
  expect(await readdir(folders)).toContain(half.id)
  await kill(first.child)
  expect(task?.status).toBe('running')
  {
    await using store = await openStore({ dataDir: data.path, databaseUrl: database.url, log: silentLog })
    await sql`update folder_clones set alive_at = now() - interval '1 minute'`.execute(store.db)
  }

  const second = await spawnManager(environment)
  started.defer(() => kill(second.child))
  await expect.poll(() => readdir(folders)).toEqual([id])
  const left = await apiOf(second.url, token ?? '').listFolders()
  expect(left.items.map(({ name }) => name)).toEqual(['large'])
})
