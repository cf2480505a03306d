import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProxy } from '#proxy'
import { DEFAULT_BACKEND } from '../../fixtures/database.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

/**
 * A small disk with the manager's data and folders: whatever writes into folders leaves room for the database. And a storage on a disk of
 * its own.
 */
const run = promisify(execFile)
const MiB = 2 ** 20
const isRoot = process.getuid?.() === 0
const stack = new AsyncDisposableStack()
let manager: TestManager
let token: string
let folder: string
let elsewhere: string
let directory: string
let local: string
let sftp: (line: string) => Promise<string>

beforeAll(async () => {
  if (!isRoot) return
  const disk = stack.use(await temporaryDirectory()).path
  await run('mount', ['-t', 'tmpfs', '-o', 'size=160m', 'tmpfs', disk])
  stack.defer(async () => void (await run('umount', ['-l', disk])))
  const other = stack.use(await temporaryDirectory()).path
  await run('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', other])
  stack.defer(async () => void (await run('umount', ['-l', other])))
  await mkdir(join(disk, 'storage'))
  const storage = new Map([
    ['local', join(disk, 'storage')],
    ['archive', other],
  ])
  const options = { dataDir: disk, backend: DEFAULT_BACKEND, floorBytes: 32 * MiB, storage }
  manager = stack.use(await startTestManager(options))
  const user = await manager.addUser('owner@example.org')
  token = user.token
  folder = (await user.api.createFolder({ body: { name: 'data' } })).id
  elsewhere = (await user.api.createFolder({ body: { name: 'kept', storageHost: 'archive' } })).id
  directory = join(disk, 'storage', 'folders', folder)
  local = stack.use(await temporaryDirectory()).path
  await writeFile(join(local, 'large'), Buffer.alloc(60 * MiB, 1))
  await writeFile(join(local, 'small'), 'x')
  const proxy = stack.use(
    await startProxy({
      managerUrl: manager.url,
      credentials: () => Promise.resolve({ authorization: `Bearer ${token}` }),
      dataDir: join(local, 'proxy'),
      userId: user.id,
      sshDirectory: join(local, 'ssh'),
    }),
  )
  const kit = await proxy.sftp.open({})
  sftp = async line => {
    await writeFile(join(local, 'batch'), line)
    const { stdout, stderr } = await run('sftp', [
      '-F',
      join(local, 'ssh', 'berth/config'),
      '-o',
      'BatchMode=yes',
      '-b',
      join(local, 'batch'),
      kit.hostAlias,
    ]).catch((error: unknown) => error as { stdout: string; stderr: string })
    return stdout + stderr
  }
})
afterAll(() => stack.disposeAsync())

function upload(path: string, length: number, body = Buffer.alloc(0), into = folder) {
  const metadata = `path ${Buffer.from(path).toString('base64')}`
  return rawRequest(`${manager.url}/api/v1/folders/${into}/uploads`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'tus-resumable': '1.0.0',
      'upload-length': String(length),
      'upload-metadata': metadata,
      ...(body.length > 0 && { 'content-type': 'application/offset+octet-stream' }),
    },
    body,
  })
}

test.runIf(isRoot)('an upload that would take what is kept free is refused when it is created', async () => {
  expect(await upload('large', 120 * MiB)).toMatchObject({
    status: 507,
    json: { code: 'disk_full', detail: expect.stringContaining('left') as string },
  })
  expect(await upload('small', 1, Buffer.from('x'))).toMatchObject({ status: 201 })
})

test.runIf(isRoot)(
  'a storage on another disk keeps a twentieth of it free, because the floor is more than that',
  async () => {
    expect(await upload('large', 192 * MiB, Buffer.alloc(0), elsewhere)).toMatchObject({
      status: 507,
      json: { code: 'disk_full' },
    })
    const most = 185 * MiB
    expect(await upload('most', most, Buffer.alloc(most), elsewhere)).toMatchObject({ status: 201 })
    expect(await sftp(`put ${local}/large kept/large`)).toMatch(/nearly full|Failure/)
  },
)

test.runIf(isRoot)(
  'bytes of an upload, and of SFTP, end where the disk must keep space, and there is room again later',
  async () => {
    // Written by a session: the manager does not count it.
    await writeFile(join(directory, 'other'), Buffer.alloc(50 * MiB, 1))
    expect(await sftp(`put ${local}/large data/large`)).toMatch(/nearly full|Failure/)
    expect((await run('df', ['--output=avail', '-B1', directory])).stdout.split('\n')[1]).toSatisfy(
      (left: string) => Number(left) >= 60 * MiB,
    )
    expect(await upload('more', 40 * MiB, Buffer.alloc(40 * MiB, 1))).toMatchObject({ status: 507 })
    await rm(join(directory, 'other'))
    await rm(join(directory, 'large'), { force: true })
    await expect.poll(() => sftp(`put ${local}/small data/again`)).not.toMatch(/nearly full|Failure/)
  },
)
