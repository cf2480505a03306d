import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client, type SFTPWrapper } from 'ssh2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type Folder, TUS_CONTENT, TUS_VERSION } from '#manager/contract'
import { startProxy } from '#proxy'
import { copyEnded } from '../../fixtures/copies.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const MIB = 2 ** 20
let cluster: SessionsCluster
let api: ApiClient
let storage: string
beforeAll(async () => {
  cluster = await startSessionsCluster()
  api = cluster.api
  storage = join(cluster.source.dataDir, 'storage', 'folders')
})
afterAll(() => cluster[Symbol.asyncDispose]())

const fill = ({ id }: Folder, name: string, bytes: number) => writeFile(join(storage, id, name), Buffer.alloc(bytes, 1))
const copy = (folder: Folder, name: string, as: string) => copied(api, folder, { paths: [name], to: '', name: as })

async function copied(client: ApiClient, folder: Folder, body: { paths: string[]; to: string; name?: string }) {
  await copyEnded(
    client,
    folder,
    client.copyFiles({ params: { id: folder.id }, body: { ...body, onConflict: 'fail' } }),
  )
}

test('a folder at its limit takes no copy more; deleting makes room at once, and a higher limit too', async () => {
  const folder = await api.createFolder({ body: { name: 'small', maxBytes: 3 * MIB } })
  expect(folder.limit).toEqual({ bytes: 3 * MIB, enforced: false })
  await fill(folder, 'one', 2 * MIB)
  expect(await refusal(copy(folder, 'one', 'two'))).toMatchObject({ code: 'quota_folder_full' })
  await rm(join(storage, folder.id, 'one'))
  await fill(folder, 'half', MIB)
  // The measurement behind a refusal is at most a second old, or twenty times as old as it took, which is long on a busy machine.
  await expect
    .poll(
      () =>
        copy(folder, 'half', 'other').then(
          () => 'done',
          () => 'refused',
        ),
      { timeout: 120_000, interval: 200 },
    )
    .toBe('done')
  const raised = await api.updateFolder({ params: { id: folder.id }, body: { maxBytes: null } })
  expect(raised.limit).toBeNull()
  await copy(folder, 'half', 'more')
  await copy(folder, 'half', 'evenMore')
})

test('a resource policy limits all folders of a user together', async () => {
  await api.createResourcePolicy({ body: { name: 'total', maxFolderBytes: 4 * MIB } })
  const user = await cluster.addUser('total@localhost')
  const { items } = await api.listUsers({ query: { search: 'total@localhost' } })
  const userId = items[0]?.id
  if (!userId) throw new Error('no user')
  await api.assignResourcePolicy({ params: { name: 'total' }, body: { userId } })
  const [first, second] = [
    await user.createFolder({ body: { name: 'first' } }),
    await user.createFolder({ body: { name: 'second' } }),
  ]
  await fill(first, 'a', 3 * MIB)
  await mkdir(join(storage, second.id, 'in'))
  await fill(second, 'b', MIB)
  const again = copied(user, second, { paths: ['b'], to: 'in' })
  expect(await refusal(again)).toMatchObject({ code: 'quota_total_full' })
  const { folders } = await user.listStorageHosts()
  expect(folders.limitBytes).toBe(4 * MIB)
  expect(folders.usedBytes).toBeGreaterThanOrEqual(4 * MIB)
})

test('a project has a limit for all of its folders together', async () => {
  const project = await api.createGroup({ body: { name: 'limited' } })
  expect(project.maxFolderBytes).toBeNull()
  const { user } = await api.me()
  await api.addGroupMember({ params: { id: project.id, userId: user.id } })
  const [first, second] = [
    await api.createFolder({ body: { name: 'first-of-project', group: project.id } }),
    await api.createFolder({ body: { name: 'second-of-project', group: project.id } }),
  ]
  await fill(first, 'a', 3 * MIB)
  await fill(second, 'b', MIB)
  await copy(second, 'b', 'c')
  const changed = await api.updateGroup({ params: { id: project.id }, body: { maxFolderBytes: 6 * MIB } })
  expect(changed.maxFolderBytes).toBe(6 * MIB)
  await expect(copy(second, 'b', 'd')).resolves.toBeUndefined()
  // A slow measurement is used for longer: on a busy machine, one more copy may pass by the old figures.
  const codeOfNext = async () => {
    try {
      await copied(api, second, { paths: ['b'], to: '', name: `next-${randomUUID()}` })
      return 'copied'
    } catch (error) {
      return (error as { code?: string }).code
    }
  }
  await expect.poll(codeOfNext).toBe('quota_total_full')
  // Folders of others count only for their owners.
  const own = await api.createFolder({ body: { name: 'not-of-project' } })
  await fill(own, 'b', MIB)
  await copy(own, 'b', 'c')
  await api.updateGroup({ params: { id: project.id }, body: { maxFolderBytes: null } })
  await copy(second, 'b', 'e')
})

/** A folder with a limit of 1 MiB that has a file of 900 KiB. */
async function almostFull(name: string): Promise<Folder> {
  const folder = await api.createFolder({ body: { name, maxBytes: MIB } })
  await fill(folder, 'there', 900 * 1024)
  return folder
}

const MORE = Buffer.alloc(200 * 1024, 2)
const TOO_MUCH = /may have 1 MiB, has/
const NEW = { 'if-none-match': '*' }

/** Sends files to a folder as the admin: as an upload, in a bundle, as an edit. */
async function senderTo(folder: Folder) {
  const { token } = await apiOf(cluster.url).login({ body: { ...ADMIN, kind: 'token' } })
  const send = async (path: string, method: string, headers: Record<string, string>, body: Buffer) => {
    const reply = await fetch(`${cluster.url}/api/v1/folders/${folder.id}/${path}`, {
      method,
      headers: { authorization: `Bearer ${token ?? ''}`, ...headers },
      body: new Uint8Array(body),
    })
    return {
      status: reply.status,
      json: (await reply.json().catch(() => ({}))) as { code?: string; items?: unknown[] },
    }
  }
  return {
    begin(path: string, bytes: Buffer, onConflict = 'fail') {
      const encode = (text: string) => Buffer.from(text).toString('base64')
      const headers = {
        'tus-resumable': TUS_VERSION,
        'upload-length': String(bytes.length),
        'upload-metadata': `path ${encode(path)},onConflict ${encode(onConflict)}`,
        'content-type': TUS_CONTENT,
      }
      return send('uploads', 'POST', headers, bytes)
    },
    bundle(files: Record<string, Buffer>) {
      const parts = Object.entries(files).flatMap(([path, bytes]) => {
        const sha256 = createHash('sha256').update(bytes).digest('hex')
        const text = Buffer.from(JSON.stringify({ path, size: bytes.length, sha256, onConflict: 'replace' }))
        const length = Buffer.alloc(4)
        length.writeUInt32BE(text.length)
        return [length, text, bytes]
      })
      return send('bundles', 'POST', { 'content-type': BUNDLE_CONTENT }, Buffer.concat(parts))
    },
    edit: (path: string, condition: Record<string, string>, bytes: Buffer) =>
      send(`content?path=${path}`, 'PUT', { 'content-type': 'application/octet-stream', ...condition }, bytes),
  }
}

test('uploads, bundles and edits are refused at the limit, and leave nothing', async () => {
  const folder = await almostFull('by-http')
  const { begin, bundle, edit } = await senderTo(folder)
  const full = { status: 507, json: { code: 'quota_folder_full' } }
  expect(await begin('by-tus', MORE)).toMatchObject(full)
  expect(await bundle({ 'by-bundle': MORE })).toMatchObject(full)
  expect(await edit('by-edit', NEW, MORE)).toMatchObject(full)
  expect(await readdir(join(storage, folder.id))).toEqual(['there'])
  expect(await readdir(join(storage, '..', 'uploads'))).toEqual([])
  // Files that fit are accepted.
  expect((await edit('small', NEW, Buffer.from('fits'))).status).toBe(200)
})

test('what replaces a file needs only the room that the file does not have already', async () => {
  const folder = await almostFull('replaced')
  const { begin, bundle, edit } = await senderTo(folder)
  const whole = Buffer.alloc(950 * 1024, 3)
  expect((await begin('there', whole, 'replace')).status).toBe(201)
  expect((await edit('there', { 'if-match': '*' }, whole)).status).toBe(200)
  expect(await bundle({ there: whole })).toMatchObject({ status: 200, json: { items: [{ error: null }] } })
  expect(await begin('there', Buffer.alloc(MIB + 1), 'replace')).toMatchObject({ status: 507 })
  expect((await begin('there', Buffer.alloc(10), 'replace')).status).toBe(201)
  expect((await begin('beside', whole)).status).toBe(201)
  // Over a lowered limit, a file can still be replaced by one of its size, but none can be created.
  const limit = (maxBytes: number) => api.updateFolder({ params: { id: folder.id }, body: { maxBytes } })
  await limit(4 * MIB)
  expect((await begin('large', Buffer.alloc(2 * MIB))).status).toBe(201)
  await limit(MIB)
  expect((await begin('beside', whole, 'replace')).status).toBe(201)
  expect((await edit('beside', { 'if-match': '*' }, whole)).status).toBe(200)
  expect((await bundle({ beside: whole })).status).toBe(200)
  expect((await bundle({ empty: Buffer.alloc(0) })).status).toBe(507)
})

test('a copy or an import that replaces something needs only the room that this does not have already', async () => {
  const folder = await api.createFolder({ body: { name: 'copied-over', maxBytes: MIB, maxFiles: 5 } })
  const source = await api.createFolder({ body: { name: 'copied-from' } })
  await fill(folder, 'there', 600 * 1024)
  await mkdir(join(storage, folder.id, 'in'))
  await writeFile(join(storage, folder.id, 'in', 'there'), Buffer.alloc(250 * 1024, 1))
  await fill(folder, 'small', 10 * 1024)
  await fill(folder, 'last', 1)
  await fill(source, 'there', 700 * 1024)
  await fill(source, 'much', 720 * 1024)
  await mkdir(join(storage, source.id, 'in'))
  await writeFile(join(storage, source.id, 'in', 'there'), Buffer.alloc(240 * 1024, 2))
  const [onConflict, params] = ['replace' as const, { id: folder.id }]
  const bring = (path: string, name = path, mode: 'copy' | 'move' = 'copy') =>
    copyEnded(
      api,
      folder,
      api.importFiles({ params, body: { from: source.id, paths: [path], to: '', name, mode, onConflict } }),
    )
  const replaceBy = (path: string, name: string) =>
    copyEnded(api, folder, api.copyFiles({ params, body: { paths: [path], to: '', name, onConflict } }))
  const size = async (name: string) => (await stat(join(storage, folder.id, name))).size
  const full = { code: 'quota_folder_full' }

  await bring('there')
  expect(await size('there')).toBe(700 * 1024)
  expect(await refusal(bring('much', 'small'))).toMatchObject(full)
  expect(await refusal(bring('much', 'new'))).toMatchObject({ code: 'quota_folder_files' })
  await bring('in')
  expect(await size('in/there')).toBe(240 * 1024)
  // The space of the replaced file is free again at once, without a measurement.
  await replaceBy('small', 'there')
  await bring('much', 'there', 'move')
  expect(await size('there')).toBe(720 * 1024)
  expect(await refusal(bring('there', 'small'))).toMatchObject(full)
  expect((await readdir(join(storage, folder.id))).toSorted()).toEqual(['in', 'last', 'small', 'there'])
})

test('a folder with as many files as it may have takes no new ones, but changes of those that it has', async () => {
  const folder = await api.createFolder({ body: { name: 'counted', maxFiles: 4 } })
  expect(folder.fileLimit).toEqual({ files: 4, enforced: false })
  await fill(folder, 'one', 1)
  await mkdir(join(storage, folder.id, 'in'))
  const { begin, bundle, edit } = await senderTo(folder)
  const full = { status: 507, json: { code: 'quota_folder_files' } }
  const bytes = Buffer.from('more')
  // The missing directories of a path count too.
  expect(await bundle({ 'in/two': bytes, 'in/deep/three': bytes })).toMatchObject(full)
  expect(await bundle({ 'in/two': bytes, three: bytes, one: bytes })).toMatchObject({ status: 200 })
  expect(await begin('four', bytes)).toMatchObject(full)
  expect(await bundle({ four: bytes })).toMatchObject(full)
  expect(await edit('four', NEW, bytes)).toMatchObject(full)
  const params = { id: folder.id }
  const make = () => api.makeDirectory({ params, body: { path: 'four' } })
  expect(await refusal(make())).toMatchObject({ code: 'quota_folder_files' })
  expect(await refusal(copy(folder, 'one', 'four'))).toMatchObject({ code: 'quota_folder_files' })
  const other = await api.createFolder({ body: { name: 'from-elsewhere' } })
  await fill(other, 'five', 1)
  const imported = api.importFiles({ params, body: { from: other.id, paths: ['five'], to: '', onConflict: 'fail' } })
  expect(await refusal(copyEnded(api, folder, imported))).toMatchObject({ code: 'quota_folder_files' })
  expect((await readdir(join(storage, folder.id))).toSorted()).toEqual(['in', 'one', 'three'])
  expect([
    (await edit('one', { 'if-match': '*' }, bytes)).status,
    (await begin('one', bytes, 'replace')).status,
    (await bundle({ 'in/two': bytes, one: bytes })).status,
  ]).toEqual([200, 201, 200])
  await api.updateFolder({ params, body: { maxFiles: 5 } })
  expect((await edit('four', NEW, bytes)).status).toBe(200)
})

test('a resource policy limits the files in all folders of a user together', async () => {
  await api.createResourcePolicy({ body: { name: 'files', maxFolderFiles: 2 } })
  const user = await cluster.addUser('files@localhost')
  const { user: me } = await user.me()
  await api.assignResourcePolicy({ params: { name: 'files' }, body: { userId: me.id } })
  const [first, second] = [
    await user.createFolder({ body: { name: 'first' } }),
    await user.createFolder({ body: { name: 'second' } }),
  ]
  await fill(first, 'a', 1)
  const make = (path: string) => user.makeDirectory({ params: { id: second.id }, body: { path } })
  await make('fits')
  expect(await refusal(make('more'))).toMatchObject({ code: 'quota_total_files' })
  const { folders } = await user.listStorageHosts()
  expect(folders).toMatchObject({ usedFiles: 2, limitFiles: 2, limitBytes: null })
})

test('a project has a limit on the files in all of its folders together', async () => {
  const project = await api.createGroup({ body: { name: 'counted', maxFolderFiles: 3 } })
  expect(project.maxFolderFiles).toBe(3)
  const { user } = await api.me()
  await api.addGroupMember({ params: { id: project.id, userId: user.id } })
  const [first, second] = [
    await api.createFolder({ body: { name: 'counted-first', group: project.id } }),
    await api.createFolder({ body: { name: 'counted-second', group: project.id } }),
  ]
  await fill(first, 'a', 1)
  await fill(first, 'b', 1)
  const make = (folder: Folder, path: string) => api.makeDirectory({ params: { id: folder.id }, body: { path } })
  await make(second, 'fits')
  expect(await refusal(make(second, 'more'))).toMatchObject({
    code: 'quota_total_files',
    detail: { cause: 'quota_project_files', limit: 3 },
  })
  // An existing file may be changed, and files of others count only for them.
  const { edit } = await senderTo(first)
  expect((await edit('a', { 'if-match': '*' }, Buffer.from('other'))).status).toBe(200)
  await make(await api.createFolder({ body: { name: 'not-of-the-counted' } }), 'more')
  const raised = await api.updateGroup({ params: { id: project.id }, body: { maxFolderFiles: null } })
  expect(raised.maxFolderFiles).toBeNull()
  await make(second, 'more')
})

test('writes, longer files and directories by SFTP are refused at the limit', async () => {
  const folder = await almostFull('by-sftp')
  const counted = await api.createFolder({ body: { name: 'counted-by-sftp', maxFiles: 2 } })
  await api.createFolder({ body: { name: 'full-by-sftp', maxBytes: MIB } })
  await using home = await temporaryDirectory()
  const { token } = await apiOf(cluster.url).login({ body: { ...ADMIN, kind: 'token' } })
  const { items } = await api.listUsers({ query: { search: ADMIN.email } })
  await using proxy = await startProxy({
    managerUrl: cluster.url,
    credentials: () => Promise.resolve({ authorization: `Bearer ${token ?? ''}` }),
    dataDir: join(home.path, 'proxy'),
    userId: items[0]?.id ?? '',
    sshDirectory: join(home.path, 'ssh'),
  })
  const kit = await proxy.sftp.open({})
  const client = new Client()
  client.connect({ ...kit.port, username: kit.user, privateKey: await readFile(kit.identityFile) })
  await once(client, 'ready')
  client.on('error', () => undefined) // the connection is reset at the end
  try {
    const sftp = await new Promise<SFTPWrapper>((resolve, reject) =>
      client.sftp((error, opened) => (error ? reject(error) : resolve(opened))),
    )
    const write = promisify(sftp.writeFile.bind(sftp)) as (path: string, bytes: Buffer) => Promise<void>
    const setstat = promisify(sftp.setstat.bind(sftp)) as (path: string, of: { size: number }) => Promise<void>
    const makeDirectory = promisify(sftp.mkdir.bind(sftp))
    const file = join(storage, folder.id, 'there')
    await expect(write('/by-sftp/more', MORE)).rejects.toThrow(TOO_MUCH)
    await expect(setstat('/by-sftp/there', { size: 2 * MIB })).rejects.toThrow(TOO_MUCH)
    expect((await stat(file)).size).toBe(900 * 1024)
    // A file may become shorter, and a little longer.
    await setstat('/by-sftp/there', { size: 800 * 1024 })
    await setstat('/by-sftp/there', { size: 801 * 1024 })
    expect((await stat(file)).size).toBe(801 * 1024)
    await makeDirectory('/by-sftp/fits')
    // A session has written more than the limit meanwhile.
    await fill(folder, 'by-session', MIB)
    // A write that does not fit causes a measurement, but not another one soon after.
    let tries = 0
    const tryDirectory = async () => {
      await write('/by-sftp/more', MORE).catch(() => undefined)
      return makeDirectory(`/by-sftp/more-${++tries}`).then(() => 'made', String)
    }
    await expect.poll(tryDirectory, { interval: 500 }).toMatch(TOO_MUCH)
    await expect(write('/by-sftp/empty', Buffer.alloc(0))).rejects.toThrow(TOO_MUCH)
    // At the limit for the number of files, existing ones can be written, but none created.
    await write('/counted-by-sftp/one', MORE)
    await makeDirectory('/counted-by-sftp/two')
    const TOO_MANY = /may have 2 files/
    await expect(write('/counted-by-sftp/three', Buffer.alloc(0))).rejects.toThrow(TOO_MANY)
    await expect(makeDirectory('/counted-by-sftp/three')).rejects.toThrow(TOO_MANY)
    await write('/counted-by-sftp/one', MORE)
    // Bytes that a file already has do not count as new, and those of a truncated file are free for it at once.
    const whole = Buffer.alloc(1_000 * 1024, 4)
    await write('/full-by-sftp/one', whole)
    const open = promisify(sftp.open.bind(sftp)) as (path: string, flags: string) => Promise<Buffer>
    const writeAt = promisify(sftp.write.bind(sftp))
    const handle = await open('/full-by-sftp/one', 'r+')
    const last = whole.length - MORE.length
    for (const position of [0, last / 2, last]) await writeAt(handle, MORE, 0, MORE.length, position)
    await expect(writeAt(handle, MORE, 0, MORE.length, last + MORE.length / 2)).rejects.toThrow(TOO_MUCH)
    for (let time = 0; time < 3; time++) await write('/full-by-sftp/one', whole)
    await setstat('/full-by-sftp/one', { size: 0 })
    await write('/full-by-sftp/two', whole)
    expect((await readdir(join(storage, counted.id))).toSorted()).toEqual(['one', 'two'])
  } finally {
    const closed = once(client, 'close')
    client.end()
    await closed
  }
})
