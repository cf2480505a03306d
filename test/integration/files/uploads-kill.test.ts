import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test, vi } from 'vitest'
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

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

test('a manager that is killed during an upload loses no acknowledged byte, and the next one continues', async () => {
  await using data = await temporaryDirectory()
  await using database = await openDatabase(DEFAULT_BACKEND)
  const environment = {
    BERTH_DATA: data.path,
    BERTH_ADMIN_PASSWORD: ADMIN.password,
    BERTH_LOG: 'error',
    ...(database.url === undefined ? {} : { DATABASE_URL: database.url }),
  }
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
  await vi.waitFor(async () => expect((await stat(part)).size).toBeGreaterThan(MiB), { timeout: 10_000 })
  await kill(first.child)

  const second = await spawnManager(environment)
  try {
    const head = await rawRequest(second.url + path, { method: 'HEAD', headers })
    const offset = Number(head.headers['upload-offset'])
    expect(offset).toBeGreaterThan(MiB)
    expect(offset).toBeLessThanOrEqual(half)
    // The right of the killed writer ends by itself within ten seconds.
    await vi.waitFor(
      async () => {
        const reply = await rawRequest(second.url + path, {
          method: 'PATCH',
          headers: { ...headers, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
          body: content.subarray(offset),
        })
        expect(reply.status).toBe(204)
      },
      { timeout: 20_000, interval: 1_000 },
    )
    const file = await readFile(join(data.path, 'storage', 'folders', folder.id, 'big.bin'))
    expect(file.equals(content)).toBe(true)
  } finally {
    await kill(second.child)
  }
}, 90_000)
