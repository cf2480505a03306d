import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type ApiClient,
  BUNDLE_CONTENT,
  type BundleResult,
  fileArchiveAddress,
  fileContentAddress,
  type Folder,
  TUS_CONTENT,
  TUS_VERSION,
} from '#manager/contract'
import { startProxy } from '#proxy'
import { casesOf } from '../../../build/bootstrap/test-sets.ts'
import { nameOf } from '../../../manager/storage/file-names.ts'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { FILE_NAMES, TWINS } from './file-names.ts'

/** Every name of the table by every way into a folder and out of it: the bytes of each name stay, and so does each file. */
const run = promisify(execFile)
const AT_ONCE = 12
const stack = new AsyncDisposableStack()
let manager: TestManager
let api: ApiClient
let token: string
let cli: Cli
let folder: Folder
let directory: string
let local: string
let here: string

/** The content of a file is its own name, so that no file can stand in for another one. */
const contentOf = (name: Buffer) => name.toString('latin1')
const below = (path: string, name: Buffer) => Buffer.concat([Buffer.from(`${path}/`), name])
const textsOf = (names: readonly Buffer[]) => names.map(contentOf).toSorted()
const filesOf = (names: readonly Buffer[]) => Object.fromEntries(names.map(name => [contentOf(name), contentOf(name)]))
const OUT = [...FILE_NAMES, ...TWINS]
const found = async (path: string) =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(path, { encoding: 'buffer' })).map(async name => [
        name.toString('latin1'),
        await readFile(below(path, name), 'utf8'),
      ]),
    ),
  ) as Record<string, string>

beforeAll(async () => {
  manager = stack.use(await startTestManager())
  cli = stack.use(await createCli())
  await cli.signIn(manager.url)
  ;({ api, token } = await manager.signIn())
  folder = await api.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
  local = stack.use(await temporaryDirectory()).path
  here = join(local, 'here')
  await mkdir(here)
  for (const name of FILE_NAMES) await writeFile(below(here, name), contentOf(name))
})
afterAll(() => stack.disposeAsync())

const authorization = () => ({ authorization: `Bearer ${token}` })
const send = (path: string, method: string, headers: Record<string, string>, body: string | Buffer) =>
  fetch(path.startsWith('/') ? manager.url + path : `${manager.url}/api/v1/folders/${folder.id}/${path}`, {
    method,
    headers: { ...authorization(), ...headers },
    body: new Uint8Array(Buffer.from(body)),
  })

/** The names that go in one by one, which takes a request or two each: all of them in `test:all`. */
const SOME = casesOf(FILE_NAMES, 4)
/** For each of these, some at a time: a person may write 16 files at once. */
async function forEachName(work: (name: Buffer) => Promise<void>): Promise<void> {
  for (let at = 0; at < SOME.length; at += AT_ONCE) await Promise.all(SOME.slice(at, at + AT_ONCE).map(work))
}

async function sftp(...lines: string[]): Promise<void> {
  const ssh = join(local, 'ssh')
  const user = (await api.me()).user.id
  await using proxy = await startProxy({
    managerUrl: manager.url,
    credentials: () => Promise.resolve(authorization()),
    dataDir: join(local, 'proxy'),
    userId: user,
    sshDirectory: ssh,
  })
  const kit = await proxy.sftp.open({})
  const batch = join(local, 'batch')
  await writeFile(batch, lines.join('\n'))
  await run('sftp', ['-F', join(ssh, 'berth/config'), '-o', 'BatchMode=yes', '-b', batch, kit.hostAlias])
}

const INTO: Record<string, (to: string) => Promise<unknown>> = {
  content: to =>
    forEachName(async name => {
      const headers = { 'content-type': 'application/octet-stream', 'if-none-match': '*' }
      const reply = await send(fileContentAddress(folder.id, `${to}/${nameOf(name)}`), 'PUT', headers, contentOf(name))
      expect([reply.status, contentOf(name)]).toEqual([expect.toBeOneOf([200, 201, 204]), contentOf(name)])
    }),
  tus: to =>
    forEachName(async name => {
      const body = contentOf(name)
      const path = Buffer.from(`${to}/${nameOf(name)}`).toString('base64')
      const headers = {
        'tus-resumable': TUS_VERSION,
        'upload-length': String(Buffer.byteLength(body)),
        'upload-metadata': `path ${path}`,
        'content-type': TUS_CONTENT,
      }
      expect([(await send('uploads', 'POST', headers, body)).status, body]).toEqual([201, body])
    }),
  async bundle(to) {
    const parts = FILE_NAMES.flatMap(name => {
      const body = Buffer.from(contentOf(name))
      const sha256 = createHash('sha256').update(body).digest('hex')
      const path = `${to}/${nameOf(name)}`
      const header = Buffer.from(JSON.stringify({ path, size: body.length, sha256 }))
      const length = Buffer.alloc(4)
      length.writeUInt32BE(header.length)
      return [length, header, body]
    })
    const reply = await send('bundles', 'POST', { 'content-type': BUNDLE_CONTENT }, Buffer.concat(parts))
    const { items } = (await reply.json()) as BundleResult
    expect(items.filter(({ error }) => error)).toEqual([])
  },
  async 'the command line'(to) {
    const { out } = await cli.run(['folder', 'upload', 'data', `${here}/`, to, '--json'])
    expect(JSON.parse(out)).toMatchObject({ failed: [], skipped: [] })
  },
  sftp: to => sftp(`put -r ${here}/. data/${to}`),
}

test.each(Object.keys(INTO))('by %s each name comes into a folder with its bytes', async way => {
  const to = `by-${way.replaceAll(' ', '-')}`
  await mkdir(join(directory, to))
  await INTO[way]?.(to)
  const at = (await readdir(join(directory, to))).includes('here') ? join(directory, to, 'here') : join(directory, to)
  expect(await found(at)).toEqual(filesOf(way === 'content' || way === 'tus' ? SOME : FILE_NAMES))
  await rm(join(directory, to), { recursive: true })
})

test('each name goes out with its bytes: list, content, archive, command line and SFTP', async () => {
  await mkdir(join(directory, 'out'))
  for (const name of OUT) await writeFile(below(join(directory, 'out'), name), contentOf(name))
  const listed: string[] = []
  let after: string | null | undefined
  do {
    const query = { path: 'out', limit: 50, ...(after ? { after } : {}) }
    const page = await api.listFiles({ params: { id: folder.id }, query })
    listed.push(...page.items.map(({ name }) => name))
    after = page.next
  } while (after !== null)
  expect(listed.toSorted()).toEqual(OUT.map(nameOf).toSorted())
  for (const name of OUT) {
    const reply = await fetch(manager.url + fileContentAddress(folder.id, `out/${nameOf(name)}`, true), {
      headers: authorization(),
    })
    expect([reply.status, await reply.text()]).toEqual([200, contentOf(name)])
  }

  const archive = await fetch(manager.url + fileArchiveAddress(folder.id, ['out']), { headers: authorization() })
  const zip = join(local, 'out.zip')
  await writeFile(zip, Buffer.from(await archive.arrayBuffer()))
  const script = `
import zipfile, json, sys
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps({i.filename: z.read(i).decode() for i in z.infolist() if not i.is_dir()}))`
  const { 'LEFT-OUT.txt': note, ...entries } = JSON.parse((await run('python3', ['-c', script, zip])).stdout) as Record<
    string,
    string
  >
  expect(note).toContain('out/line%0Abreak')
  expect(Object.values(entries).toSorted()).toEqual(textsOf(OUT))
  expect(Object.keys(entries)).toHaveLength(OUT.length)

  await cli.run(['folder', 'download', 'data', 'out', join(local, 'by-cli'), '--json'])
  expect(await found(join(local, 'by-cli'))).toEqual(filesOf(OUT))
  await sftp(`get -r data/out ${local}/by-sftp`)
  expect(await found(join(local, 'by-sftp'))).toEqual(filesOf(OUT))
})
