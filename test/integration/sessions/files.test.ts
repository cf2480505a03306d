import { execFile } from 'node:child_process'
import { chown, link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fileArchiveAddress, fileContentAddress, type FilePage, type Folder } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { refusal } from '../../fixtures/sessions-cluster.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

let manager: TestManager
let token: string
let api: Awaited<ReturnType<TestManager['signIn']>>['api']
let folder: Folder
let directory: string
let count = 0
beforeAll(async () => {
  manager = await startTestManager()
  ;({ token, api } = await manager.signIn())
})
afterAll(() => manager[Symbol.asyncDispose]())
beforeEach(async () => {
  folder = await api.createFolder({ body: { name: `files${++count}` } })
  directory = join(manager.dataDir, 'storage/folders', folder.id)
})

const params = () => ({ id: folder.id })
const bearer = (more: Record<string, string> = {}) => ({ authorization: `Bearer ${token}`, ...more })
const content = (
  path: string,
  init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  download = false,
) =>
  fetch(manager.url + fileContentAddress(folder.id, path, download), {
    ...init,
    headers: bearer({
      ...(init.body === undefined ? {} : { 'content-type': 'application/octet-stream' }),
      ...init.headers,
    }),
  })
const codeOf = async (reply: Response) => ((await reply.json()) as { code: string }).code
const namesOf = ({ items }: FilePage) => items.map(({ name }) => name)
const fill = (names: readonly string[]) => Promise.all(names.map(name => writeFile(join(directory, name), name)))

describe('entries of a directory', () => {
  test('entries are sorted and paged, directories first', async () => {
    await fill(['b', 'A', 'c10', 'c9'])
    await mkdir(join(directory, 'z'))
    const first = await api.listFiles({ params: params(), query: { limit: '2' } })
    expect(first).toMatchObject({ sorted: true, total: 5 })
    expect(namesOf(first)).toEqual(['z', 'A'])
    const second = await api.listFiles({ params: params(), query: { limit: '2', after: first.next ?? '' } })
    expect(namesOf(second)).toEqual(['b', 'c10'])
    const last = await api.listFiles({ params: params(), query: { limit: '2', after: second.next ?? '' } })
    expect([namesOf(last), last.next]).toEqual([['c9'], null])
    const down = await api.listFiles({ params: params(), query: { sort: 'size', order: 'desc' } })
    expect(namesOf(down)).toEqual(['z', 'c10', 'c9', 'b', 'A'])
    const some = await api.listFiles({ params: params(), query: { names: 'C' } })
    expect(namesOf(some)).toEqual(['c10', 'c9'])
    expect(await refusal(api.listFiles({ params: params(), query: { after: 'nonsense' } }))).toMatchObject({
      code: 'bad_request',
    })
  })

  test('a large directory is listed in its own order, each entry once, also after a pause', async () => {
    const total = 20_000
    await run('sh', ['-c', `seq ${total} | xargs touch`], { cwd: directory })
    const seen = new Set<string>()
    let after: string | null = null
    do {
      const query: Record<string, string> = { limit: '1000', ...(after === null ? {} : { after }) }
      const page: FilePage = await api.listFiles({ params: params(), query })
      expect(page.sorted).toBe(false)
      for (const name of namesOf(page)) seen.add(name)
      after = page.next
    } while (after !== null)
    expect(seen.size).toBe(total)

    // A page whose listing was dropped is read again up to its position: five other listings displace this one.
    const pageOf = (next?: string | null) =>
      api.listFiles({ params: params(), query: { limit: '1000', ...(next ? { after: next } : {}) } })
    const first = await pageOf()
    for (let other = 0; other < 5; other++) await pageOf()
    const second = await pageOf(first.next)
    expect(second.items).toHaveLength(1_000)
    expect(namesOf(second).filter(name => namesOf(first).includes(name))).toEqual([])
  })

  test('links, pipes and odd names are told apart, and search finds entries', async () => {
    await symlink('/etc', join(directory, 'link'))
    await run('mkfifo', [join(directory, 'pipe')])
    await mkdir(join(directory, 'deep/er'), { recursive: true })
    await writeFile(join(directory, 'deep/er/Needle.txt'), '')
    await writeFile(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0x0a, 0x41])]), 'odd')
    const { items } = await api.listFiles({ params: params() })
    expect(items.map(({ name, kind }) => [name, kind])).toEqual([
      ['deep', 'directory'],
      ['link', 'link'],
      ['pipe', 'other'],
      ['\uefff\nA', 'file'],
    ])
    expect(await (await content('\uefff\nA')).text()).toBe('odd')
    const found = await api.searchFiles({ params: params(), query: { text: 'needle' } })
    expect(found).toMatchObject({ complete: true, items: [{ path: 'deep/er/Needle.txt', kind: 'file' }] })
    expect(await api.getFile({ params: params(), query: { path: 'deep/er' } })).toMatchObject({ name: 'er', size: 0 })
    expect(await refusal(api.getFile({ params: params(), query: { path: 'no' } }))).toMatchObject({
      code: 'file_not_found',
    })
  })
})

describe('changes to files', () => {
  test('make, move, rename, copy and delete', async () => {
    await api.makeDirectory({ params: params(), body: { path: 'a/b/c', parents: true } })
    await api.makeDirectory({ params: params(), body: { path: 'a/b/c', parents: true } })
    expect(await refusal(api.makeDirectory({ params: params(), body: { path: 'a/b' } }))).toMatchObject({
      code: 'file_exists',
    })
    await writeFile(join(directory, 'a/notes.txt'), 'text')
    await symlink('notes.txt', join(directory, 'a/link'))
    const move = (body: Parameters<typeof api.moveFiles>[0]['body']) => api.moveFiles({ params: params(), body })
    const copy = (body: Parameters<typeof api.copyFiles>[0]['body']) => api.copyFiles({ params: params(), body })
    expect(await move({ paths: ['a/notes.txt'], to: 'a', name: 'kept.txt' })).toEqual({
      items: [{ path: 'a/notes.txt', to: 'a/kept.txt' }],
    })
    expect(await copy({ paths: ['a'], to: '', onConflict: 'rename' })).toMatchObject({
      items: [{ to: 'a (1)' }],
      task: null,
    })
    expect(await readdir(join(directory, 'a (1)'))).toEqual(['b', 'kept.txt', 'link'])
    expect(await refusal(copy({ paths: ['a'], to: 'a/b' }))).toMatchObject({ code: 'file_kind_refused' })
    expect(await refusal(move({ paths: ['a'], to: 'a/b' }))).toMatchObject({ code: 'file_kind_refused' })
    expect(await refusal(move({ paths: ['a'], to: '', name: 'a (1)' }))).toMatchObject({ code: 'file_exists' })
    expect(await refusal(move({ paths: ['a/kept.txt', 'gone'], to: '' }))).toMatchObject({
      code: 'file_not_found',
      detail: { path: 'gone', done: 1 },
    })
    await move({ paths: ['a'], to: '', name: 'a (1)', onConflict: 'replace' })
    expect(await readdir(join(directory, 'a (1)'))).toEqual(['b', 'link'])
    await api.deleteFiles({ params: params(), body: { paths: ['a (1)', 'kept.txt'] } })
    expect(await readdir(directory)).toEqual([])
    await expect.poll(() => readdir(join(manager.dataDir, 'storage/removed'))).toEqual([])
  })

  test('a long copy continues as a task, which can be cancelled', async () => {
    await mkdir(join(directory, 'many'))
    await run('sh', ['-c', 'seq 20000 | xargs touch'], { cwd: join(directory, 'many') })
    const { task } = await api.copyFiles({ params: params(), body: { paths: ['many'], to: '', name: 'copy' } })
    const id = task?.id ?? ''
    expect(task).toMatchObject({ kind: 'copy', status: 'running', target: folder.name })
    const other = await manager.addUser(`copies${count}@localhost`)
    const own = await other.api.createFolder({ body: { name: 'own' } })
    expect(await refusal(other.api.getCopy({ params: { id: own.id, taskId: id } }))).toMatchObject({
      code: 'task_not_found',
    })
    const cancelled = await api.cancelCopy({ params: { ...params(), taskId: id } })
    expect(cancelled.status).toBe('cancelled')
    expect((await api.listCopies({ params: params() })).items.map(({ status }) => status)).toEqual(['cancelled'])
    expect(await readdir(directory)).toEqual(['many'])
    await expect.poll(() => readdir(join(manager.dataDir, 'storage/removed'))).toEqual([])
  })

  test.each(['..', '../x', '/etc', 'a//b', './a', 'a/../../x', 'x'.repeat(256), 'a\0'])(
    'the path %j is refused, because it leads elsewhere',
    async path => {
      for (const call of [
        () => api.makeDirectory({ params: params(), body: { path } }),
        () => api.moveFiles({ params: params(), body: { paths: [path], to: '' } }),
        () => api.moveFiles({ params: params(), body: { paths: ['a'], to: path } }),
        () => api.copyFiles({ params: params(), body: { paths: [path], to: '' } }),
        () => api.deleteFiles({ params: params(), body: { paths: [path] } }),
        () => api.getFile({ params: params(), query: { path } }),
        () => api.listFiles({ params: params(), query: { path } }),
      ])
        expect(await refusal(call())).toMatchObject({ code: 'bad_request' })
      expect((await content(path)).status).toBe(400)
    },
  )

  test('changes follow no link, and delete the link itself', async () => {
    const outside = join(manager.dataDir, 'outside')
    await mkdir(outside, { recursive: true })
    await writeFile(join(outside, 'secret'), 'of the host')
    await symlink(outside, join(directory, 'out'))
    await symlink(join(outside, 'secret'), join(directory, 'file'))
    for (const path of ['out/secret', 'file', 'out']) expect((await content(path)).status).toBe(409)
    expect((await content('out/new', { method: 'PUT', body: 'x', headers: { 'if-none-match': '*' } })).status).toBe(409)
    expect((await content('file', { method: 'PUT', body: 'x', headers: { 'if-match': '*' } })).status).toBe(409)
    expect(await refusal(api.listFiles({ params: params(), query: { path: 'out' } }))).toMatchObject({
      code: 'file_kind_refused',
    })
    await api.copyFiles({ params: params(), body: { paths: ['out'], to: '', name: 'copy' } })
    await api.deleteFiles({ params: params(), body: { paths: ['out', 'file', 'copy'] } })
    expect(await readdir(outside)).toEqual(['secret'])
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host')
  })

  test('new files belong to the user of sessions once a session has used the folder', async () => {
    if (!isRoot) return
    await chown(directory, 60_999, 60_999)
    await content('new.txt', { method: 'PUT', body: 'x', headers: { 'if-none-match': '*' } })
    await api.copyFiles({ params: params(), body: { paths: ['new.txt'], to: '', name: 'copy.txt' } })
    const found = await Promise.all(['new.txt', 'copy.txt'].map(name => stat(join(directory, name))))
    expect(found.map(({ uid, mode }) => [uid, mode & 0o777])).toEqual([
      [60_999, 0o644],
      [60_999, 0o644],
    ])
  })

  test('changes are in the audit log, reading is not', async () => {
    await fill(['one'])
    await content('one')
    await api.moveFiles({ params: params(), body: { paths: ['one'], to: '', name: 'two' } })
    await api.deleteFiles({ params: params(), body: { paths: ['two'] } })
    const { items } = await api.listAuditLog({ query: { limit: '5' } })
    expect(items.slice(0, 2)).toMatchObject([
      { action: 'deleteFiles', target: `folder:${folder.id}`, detail: { path: 'two', count: 1 } },
      { action: 'moveFiles', target: `folder:${folder.id}`, detail: { path: 'one', name: 'two' } },
    ])
    expect(items.some(({ action }) => action === 'readFile')).toBe(false)
  })
})

describe('content of files', () => {
  test('a file is sent whole, in ranges, or not at all if the client has it', async () => {
    const text = 'x'.repeat(600_000) + 'the end'
    await writeFile(join(directory, 'page.html'), text)
    const whole = await content('page.html')
    const etag = whole.headers.get('etag') ?? ''
    expect(await whole.text()).toBe(text)
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(text.length),
      'content-security-policy': expect.stringContaining('sandbox') as string,
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline',
      'accept-ranges': 'bytes',
    })
    const head = await content('page.html', { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, String(text.length), ''])
    const range = async (headers: Record<string, string>) => {
      const reply = await content('page.html', { headers })
      return [reply.status, reply.headers.get('content-range'), await reply.text()]
    }
    expect(await range({ range: 'bytes=-7' })).toEqual([206, `bytes 600000-600006/600007`, 'the end'])
    expect(await range({ range: 'bytes=600004-' })).toEqual([206, 'bytes 600004-600006/600007', 'end'])
    expect(await range({ range: 'bytes=600000-600002', 'if-range': etag })).toMatchObject([206, {}, 'the'])
    expect((await range({ range: 'bytes=0-1', 'if-range': '"other"' }))[0]).toBe(200)
    expect((await range({ range: 'bytes=600007-' })).slice(0, 2)).toEqual([416, 'bytes */600007'])
    expect((await range({ 'if-none-match': etag }))[0]).toBe(304)
    const saved = await content('page.html', {}, true)
    expect(saved.headers.get('content-disposition')).toContain('attachment; filename="page.html"')
    await saved.arrayBuffer()
    expect(await codeOf(await content(''))).toBe('file_kind_refused')
  })

  test('a file is written only if it is still the one that was read', async () => {
    const put = (body: string, headers: Record<string, string>, path = 'notes.txt') =>
      content(path, { method: 'PUT', body, headers })
    expect(await codeOf(await put('x', {}))).toBe('bad_request')
    const made = (await (await put('first', { 'if-none-match': '*' })).json()) as { etag: string }
    expect(await codeOf(await put('again', { 'if-none-match': '*' }))).toBe('file_changed')
    const changed = (await (await put('second', { 'if-match': made.etag })).json()) as { etag: string }
    expect(await readFile(join(directory, 'notes.txt'), 'utf8')).toBe('second')
    const refused = await put('third', { 'if-match': made.etag })
    expect([refused.status, await codeOf(refused)]).toEqual([412, 'file_changed'])
    // Simulates a session that writes the file.
    await writeFile(join(directory, 'notes.txt'), 'by a session')
    expect(await codeOf(await put('third', { 'if-match': changed.etag }))).toBe('file_changed')
    await rm(join(directory, 'notes.txt'))
    expect(await codeOf(await put('third', { 'if-match': changed.etag }))).toBe('file_changed')
    expect(await codeOf(await put('x'.repeat(4 * 1024 * 1024 + 1), { 'if-none-match': '*' }))).toBe('body_too_large')
    expect(await codeOf(await put('x', { 'if-none-match': '*' }, 'no/notes.txt'))).toBe('file_not_found')
    expect(await readdir(directory)).toEqual([])
  })

  test('the download of a file that shrinks meanwhile ends with a cut connection', async () => {
    await writeFile(join(directory, 'log'), Buffer.alloc(32 * 1024 * 1024))
    const reply = await content('log')
    await writeFile(join(directory, 'log'), 'short')
    await expect(reply.arrayBuffer()).rejects.toThrow()
  })
})

describe('archives', () => {
  test('an archive holds files and directories under safe names, without links', async () => {
    await mkdir(join(directory, 'data/empty'), { recursive: true })
    await writeFile(join(directory, 'data/run.sh'), '#!/bin/sh\n', { mode: 0o755 })
    await writeFile(join(directory, 'data/..\\..\\evil'), 'evil')
    await writeFile(join(directory, 'data/한글 😀.txt'), 'text')
    await symlink('/etc/passwd', join(directory, 'data/passwd'))
    await run('mkfifo', [join(directory, 'data/pipe')])
    await writeFile(join(directory, 'one'), '1')
    const reply = await fetch(manager.url + fileArchiveAddress(folder.id, ['data', 'one']), { headers: bearer() })
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/zip'])
    const zip = join(manager.dataDir, 'test.zip')
    await writeFile(zip, Buffer.from(await reply.arrayBuffer()))
    const script = `
import zipfile, json, sys
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps({i.filename: [z.read(i).decode(), oct(i.external_attr >> 16)] for i in z.infolist()}))`
    const { stdout } = await run('python3', ['-c', script, zip])
    expect(JSON.parse(stdout)).toEqual({
      'data/': ['', '0o40755'],
      'data/empty/': ['', '0o40755'],
      'data/run.sh': ['#!/bin/sh\n', '0o100755'],
      'data/..%5C..%5Cevil': ['evil', '0o100644'],
      'data/한글 😀.txt': ['text', '0o100644'],
      one: ['1', '0o100644'],
      'LEFT-OUT.txt': [expect.stringContaining('\ndata/..%5C..%5Cevil\n'), '0o100644'],
    })
    expect((await fetch(manager.url + fileArchiveAddress(folder.id, ['gone']), { headers: bearer() })).status).toBe(404)
  })

  test('an archive whose client leaves closes all its files', async () => {
    await writeFile(join(directory, 'large'), Buffer.alloc(64 * 1024 * 1024))
    const open = async () => (await readdir('/proc/self/fd')).length
    const before = await open()
    for (let round = 0; round < 5; round++) {
      for (const address of [fileArchiveAddress(folder.id, ['']), fileContentAddress(folder.id, 'large')]) {
        const cut = new AbortController()
        const reply = await fetch(manager.url + address, { headers: bearer(), signal: cut.signal })
        await reply.body?.getReader().read()
        cut.abort()
      }
    }
    await expect.poll(open).toBeLessThanOrEqual(before + 2)
  })
})

test('folders of other users show no files, and hard links to foreign files are not read', async () => {
  const other = await manager.addUser(`other${count}@localhost`)
  await fill(['mine'])
  expect(await refusal(other.api.listFiles({ params: params() }))).toMatchObject({ code: 'folder_not_found' })
  expect(await refusal(other.api.deleteFiles({ params: params(), body: { paths: ['mine'] } }))).toMatchObject({
    code: 'folder_not_found',
  })
  await api.trashFolder({ params: params() })
  expect(await refusal(api.listFiles({ params: params() }))).toMatchObject({ code: 'folder_not_found' })
  await api.restoreFolder({ params: params() })
  if (!isRoot) return
  await chown(directory, 60_999, 60_999)
  await writeFile(join(manager.dataDir, 'of-root'), 'secret')
  await link(join(manager.dataDir, 'of-root'), join(directory, 'hard'))
  expect((await content('hard')).status).toBe(409)
})
