import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { BUNDLE_CONTENT } from '#manager/contract'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

const run = promisify(execFile)
const MiB = 1024 * 1024
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Mounts a directory over another one. @returns false if that is not permitted */
const bind = (from: string, to: string) =>
  run('mount', ['--bind', from, to]).then(
    () => true,
    () => false,
  )

test('a folder that is a mount of its own takes uploads whole, and shows none in the making', async context => {
  await using manager = await startTestManager()
  await using other = await temporaryDirectory()
  const { api, token } = await manager.signIn()
  const folder = await api.createFolder({ body: { name: 'mounted' } })
  const directory = join(manager.dataDir, 'storage', 'folders', folder.id)
  if (!(await bind(other.path, directory))) context.skip('mounting is not permitted here')
  await using _mount = { [Symbol.asyncDispose]: () => run('umount', [directory]).then(() => undefined) }

  const upload = (path: string, content: Buffer, more: Record<string, string> = {}) =>
    rawRequest(`${manager.url}/api/v1/folders/${folder.id}/uploads`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'tus-resumable': '1.0.0',
        'content-type': 'application/offset+octet-stream',
        'upload-length': String(content.length),
        'upload-metadata': Object.entries({ path, sha256: sha256(content), ...more })
          .map(([key, value]) => `${key} ${base64(value)}`)
          .join(','),
      },
      body: content,
    })
  const content = randomBytes(3 * MiB)
  const modifiedAt = '2024-05-06T07:08:09.000Z'
  expect(await upload('deep/file', content, { modifiedAt })).toMatchObject({ status: 201, json: { finished: true } })
  expect(sha256(await readFile(join(directory, 'deep/file')))).toBe(sha256(content))
  const { mode, mtime, nlink } = await stat(join(directory, 'deep/file'))
  expect([mode & 0o777, mtime.toISOString(), nlink]).toEqual([0o644, modifiedAt, 1])
  expect(await upload('deep/file', Buffer.from('new'))).toMatchObject({ status: 409, json: { code: 'file_exists' } })
  expect((await upload('deep/file', Buffer.from('two'), { onConflict: 'rename' })).json).toMatchObject({
    path: 'deep/file (1)',
  })
  expect((await upload('deep/file', Buffer.from('three'), { onConflict: 'replace' })).json).toMatchObject({
    path: 'deep/file',
  })
  expect(await readFile(join(directory, 'deep/file'), 'utf8')).toBe('three')

  const header = Buffer.from(JSON.stringify({ path: 'deep/small', size: 1, sha256: sha256(Buffer.from('s')) }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(header.length)
  const bundle = await rawRequest(`${manager.url}/api/v1/folders/${folder.id}/bundles`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': BUNDLE_CONTENT },
    body: Buffer.concat([length, header, Buffer.from('s')]),
  })
  expect(bundle.json).toEqual({ items: [{ path: 'deep/small', error: null }] })
  expect((await readdir(join(directory, 'deep'))).toSorted()).toEqual(['file', 'file (1)', 'small'])
  expect(await readdir(join(manager.dataDir, 'storage', 'uploads'))).toEqual([])

  const draft = '.berth-00000000-0000-4000-8000-000000000000'
  await writeFile(join(directory, draft), 'left behind')
  await mkdir(join(directory, '.berth-mine'))
  await utimes(join(directory, draft), 1, 1)
  const { items } = await api.listFiles({ params: { id: folder.id } })
  expect(items.map(({ name }) => name)).toEqual(['.berth-mine', 'deep'])
})
