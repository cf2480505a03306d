import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Folder } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

let manager: TestManager
let owner: { id: string; token: string; api: ApiClient }
let folder: Folder
let directory: string
beforeAll(async () => {
  manager = await startTestManager()
  owner = await manager.addUser('owner@example.org')
  folder = await owner.api.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
  await writeFile(join(directory, 'page.html'), '<script>alert(1)</script>')
  await mkdir(join(directory, 'deep/empty'), { recursive: true })
  await writeFile(join(directory, 'deep/file'), 'deep')
  await symlink('/etc/passwd', join(directory, 'link'))
})
afterAll(() => manager[Symbol.asyncDispose]())

const ticketFor = async (paths: string[], api = owner.api) =>
  (await api.createDownload({ params: { id: folder.id }, body: { paths } })).url
const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  rawRequest(manager.url + url, { method, headers })

test('a link downloads a file without a sign-in, whole, in ranges and by HEAD, never as a page', async () => {
  const url = await ticketFor(['page.html'])
  const whole = await get(url)
  expect(whole).toMatchObject({ status: 200, text: '<script>alert(1)</script>' })
  expect(whole.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': expect.stringContaining('attachment') as string,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'accept-ranges': 'bytes',
  })
  const etag = whole.headers.etag ?? ''
  expect(await get(url, { range: 'bytes=8-', 'if-range': etag })).toMatchObject({
    status: 206,
    text: 'alert(1)</script>',
  })
  expect(await get(url, {}, 'HEAD')).toMatchObject({ status: 200, text: '', headers: { 'content-length': '25' } })
})

test('several files, or a directory, come as a ZIP file', async () => {
  const one = await get(await ticketFor(['deep']))
  expect(one.headers).toMatchObject({
    'content-type': 'application/zip',
    'content-disposition': expect.stringContaining('deep.zip') as string,
  })
  expect(one.text).toContain('deep/empty/')
  const several = await get(await ticketFor(['deep', 'page.html']))
  expect(several.text.startsWith('PK')).toBe(true)
  expect(several.headers['content-disposition']).toContain('data.zip')
  expect((await get(await ticketFor(['']))).text).toContain('data/deep/file')
})

test('a link is given only for files that exist and are none elsewhere, to a caller who may read them', async () => {
  await expect(ticketFor(['none'])).rejects.toMatchObject({ code: 'file_not_found' })
  await expect(ticketFor(['link'])).rejects.toMatchObject({ code: 'file_kind_refused' })
  const stranger = await manager.addUser('stranger@example.org')
  await expect(ticketFor(['page.html'], stranger.api)).rejects.toMatchObject({ code: 'folder_not_found' })
})

test('a link ends with the right to read, with the sign-in that asked for it, and by being wrong', async () => {
  const reader = await manager.addUser('reader@example.org')
  await owner.api.inviteToFolder({ params: { id: folder.id }, body: { email: 'reader@example.org', permission: 'ro' } })
  for (const { id } of (await reader.api.listFolderInvitations()).items)
    await reader.api.acceptFolderInvitation({ params: { id } })
  const shared = await ticketFor(['page.html'], reader.api)
  expect((await get(shared)).status).toBe(200)
  await owner.api.deleteFolderMember({ params: { id: folder.id, userId: reader.id } })
  expect(await get(shared)).toMatchObject({ status: 404, json: { code: 'folder_not_found' } })

  const own = await ticketFor(['page.html'])
  expect((await get(`${own}x`)).json).toMatchObject({ code: 'link_invalid' })
  await owner.api.logout()
  expect(await get(own)).toMatchObject({ status: 403, json: { code: 'link_invalid' } })
})

test('what a link names may change: another kind is another answer, what is gone is not found', async () => {
  const { api } = await manager.signIn()
  const { id } = await api.createFolder({ body: { name: 'other' } })
  const top = join(manager.dataDir, 'storage', 'folders', id)
  await writeFile(join(top, 'thing'), 'a file')
  const { url } = await api.createDownload({ params: { id }, body: { paths: ['thing'] } })
  expect((await get(url)).text).toBe('a file')
  await rm(join(top, 'thing'))
  expect(await get(url)).toMatchObject({ status: 404, json: { code: 'file_not_found' } })
  await symlink('/etc/passwd', join(top, 'thing'))
  expect(await get(url)).toMatchObject({ status: 409, json: { code: 'file_kind_refused' } })
})
