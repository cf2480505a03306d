import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type Folder, TUS_CONTENT, TUS_VERSION } from '#manager/contract'
import { type Proxy, startProxy } from '#proxy'
import { type FolderKit } from '#proxy/contract'
import { expectUntouched, fillArena, INSIDE, startSwapping } from '../../fixtures/hostile-folder.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'

const MiB = 1024 * 1024
const RACE_MS = 3_000
const run = promisify(execFile)
const has = async (program: string) =>
  await run('which', [program]).then(
    () => true,
    () => false,
  )

interface User {
  readonly id: string
  readonly token: string
  readonly api: ApiClient
}

let manager: TestManager
let owner: User
let folder: Folder
let directory: string
let local: string
let ssh: string
let proxy: Proxy
let kit: FolderKit
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  manager = stack.use(await startTestManager())
  local = stack.use(await temporaryDirectory()).path
  owner = await manager.addUser('owner@example.org')
  folder = await owner.api.createFolder({ body: { name: 'data' } })
  directory = directoryOf(folder)
  ssh = join(local, 'ssh')
  proxy = stack.use(await proxyOf(owner, ssh))
  kit = await proxy.sftp.open({})
})
afterAll(() => stack.disposeAsync())

const directoryOf = ({ id }: Folder) => join(manager.dataDir, 'storage', 'folders', id)

function proxyOf({ id, token }: User, sshDirectory: string, dataDir = join(local, 'proxy')): Promise<Proxy> {
  return startProxy({
    managerUrl: manager.url,
    credentials: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    dataDir,
    userId: id,
    sshDirectory,
  })
}

/** Runs OpenSSH's sftp with the kit's Host block. @returns its output on both streams */
async function sftp(lines: readonly string[], { config = join(ssh, 'berth/config'), alias = kit.hostAlias } = {}) {
  const batch = join(local, `batch-${randomBytes(4).toString('hex')}`)
  await writeFile(batch, lines.join('\n'))
  const child = run('sftp', ['-F', config, '-o', 'BatchMode=yes', '-b', batch, alias])
  return await child.then(
    ({ stdout, stderr }) => ({ ok: true, out: stdout + stderr }),
    (error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      return { ok: false, out: stdout + stderr }
    },
  )
}

const said = async (line: string) => (await sftp([line])).out

test('OpenSSH puts, gets, lists, renames and deletes files of a folder', async () => {
  const content = randomBytes(3 * MiB + 17)
  await writeFile(join(local, 'in.bin'), content, { mode: 0o640 })
  const done = await sftp([
    'pwd',
    'cd data',
    'mkdir sub',
    `put -p ${local}/in.bin sub/one.bin`,
    'rename sub/one.bin sub/two.bin',
    'ls -la sub',
    `get sub/two.bin ${local}/out.bin`,
    'chmod 600 sub/two.bin',
    'df sub',
    'symlink /etc/passwd sub/link',
  ])
  expect(done.out).toContain('Remote working directory: /\n')
  expect(done.out).toMatch(/-rw-r----- .* 3145745 .* (sub\/)?two\.bin/)
  expect(done.out).toContain('remote symlink file "/etc/passwd" to "/data/sub/link": Operation unsupported')
  expect((await readFile(join(local, 'out.bin'))).equals(content)).toBe(true)
  expect((await readFile(join(directory, 'sub/two.bin'))).equals(content)).toBe(true)
  const [there, here] = await Promise.all([stat(join(directory, 'sub/two.bin')), stat(join(local, 'in.bin'))])
  expect(Math.trunc(there.mtimeMs / 1000)).toBe(Math.trunc(here.mtimeMs / 1000))
  expect(there.mode & 0o777).toBe(0o600)
  expect((await sftp(['rm data/sub/two.bin', 'rmdir data/sub'])).ok).toBe(true)
  expect(await readdir(directory)).toEqual([])
})

test('a tree is copied there and back, with odd names', async () => {
  const tree = join(local, 'tree')
  await mkdir(join(tree, 'a/b'), { recursive: true })
  const names = ['ü ö.txt', '한국어', 'x'.repeat(255), '#quote"\'', ' space ']
  for (const name of names) await writeFile(join(tree, 'a/b', name), name)
  expect(await sftp([`put -r ${tree} data/`])).toMatchObject({ ok: true })
  expect((await readdir(join(directory, 'tree/a/b'))).toSorted()).toEqual(names.toSorted())
  expect(await sftp([`get -r data/tree ${local}/back`])).toMatchObject({ ok: true })
  for (const name of names) expect(await readFile(join(local, 'back/a/b', name), 'utf8')).toBe(name)
})

test('what is made in the folder .ssh, which sessions mount as their own, is for its owner alone by every way', async () => {
  const keys = await owner.api.createFolder({ body: { name: '.ssh' } })
  const params = { id: keys.id }
  const call = (path: string, method: string, headers: Record<string, string>, body: Uint8Array<ArrayBuffer>) =>
    fetch(`${manager.url}/api/v1/folders/${keys.id}/${path}`, {
      method,
      headers: { authorization: `Bearer ${owner.token}`, ...headers },
      body,
    })
  const bytes = Buffer.from('Host *')
  const entries = [
    { path: 'bundled-in/file', size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    { path: 'bundled', kind: 'directory' },
  ].flatMap(entry => {
    const header = Buffer.from(JSON.stringify(entry))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(header.length)
    return [length, header, ...('size' in entry ? [bytes] : [])]
  })
  const upload = {
    'tus-resumable': TUS_VERSION,
    'upload-length': String(bytes.length),
    'upload-metadata': `path ${Buffer.from('uploaded').toString('base64')}`,
    'content-type': TUS_CONTENT,
  }
  const replies = [
    await call(
      'content?path=edited',
      'PUT',
      { 'if-none-match': '*', 'content-type': 'application/octet-stream' },
      bytes,
    ),
    await call('bundles', 'POST', { 'content-type': BUNDLE_CONTENT }, Buffer.concat(entries)),
    await call('uploads', 'POST', upload, bytes),
  ]
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 201])
  await owner.api.makeDirectory({ params, body: { path: 'made' } })
  await owner.api.makeDirectory({ params, body: { path: 'deep/er', parents: true } })
  await writeFile(join(local, 'config'), bytes, { mode: 0o644 })
  expect(await sftp(['mkdir .ssh/by-sftp', `put ${local}/config .ssh/put`])).toMatchObject({ ok: true })
  const modes: Record<string, string> = {}
  for (const path of await readdir(directoryOf(keys), { recursive: true }))
    modes[path] = ((await stat(join(directoryOf(keys), path))).mode & 0o777).toString(8)
  const directories = ['bundled', 'bundled-in', 'by-sftp', 'deep', 'deep/er', 'made'].map(path => [path, '700'])
  const files = ['bundled-in/file', 'edited', 'put', 'uploaded'].map(path => [path, '600'])
  expect(modes).toEqual(Object.fromEntries([...directories, ...files]))
})

test('links within a folder are followed, as on a server of OpenSSH', async () => {
  await mkdir(join(directory, 'hub/blobs'), { recursive: true })
  await mkdir(join(directory, 'hub/snapshots/abc'), { recursive: true })
  await writeFile(join(directory, 'hub/blobs/sha1'), 'weights')
  await symlink('../../blobs/sha1', join(directory, 'hub/snapshots/abc/model.bin'))
  await symlink('snapshots/abc', join(directory, 'hub/current'))
  await symlink('blobs/none', join(directory, 'hub/dangling'))
  // `get -r` of the program sftp itself leaves out links.
  await run('scp', ['-F', join(ssh, 'berth/config'), '-r', `${kit.hostAlias}:data/hub/snapshots`, local])
  expect(await sftp([`get data/hub/current/model.bin ${local}/got.bin`])).toMatchObject({ ok: true })
  expect(await readFile(join(local, 'got.bin'), 'utf8')).toBe('weights')
  expect(await readFile(join(local, 'snapshots/abc/model.bin'), 'utf8')).toBe('weights')
  expect((await sftp(['cd data/hub/current', 'pwd', 'ls -l'])).out).toMatch(
    /directory: \/data\/hub\/snapshots\/abc\n[^]*lrw[^]*model\.bin/,
  )
  await writeFile(join(local, 'other'), 'other weights')
  const done = await sftp([
    `put ${local}/other data/hub/current/model.bin`,
    `put ${local}/other data/hub/current/new`,
    'chmod 600 data/hub/current/model.bin',
    'rename data/hub/current/new data/hub/current/newer',
    `put ${local}/other data/hub/dangling`,
    'rm data/hub/current/model.bin',
  ])
  expect(done).toMatchObject({ ok: true })
  expect(await readFile(join(directory, 'hub/blobs/sha1'), 'utf8')).toBe('other weights')
  expect((await stat(join(directory, 'hub/blobs/sha1'))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(directory, 'hub/blobs/none'), 'utf8')).toBe('other weights')
  expect(await readdir(join(directory, 'hub/snapshots/abc'))).toEqual(['newer'])
  await rm(join(directory, 'hub'), { recursive: true })
})

describe('nothing leaves the folder', () => {
  test('paths, links and hard links lead nowhere else', async () => {
    const secret = join(local, 'secret')
    await writeFile(secret, 'secret')
    await symlink(local, join(directory, 'out'))
    await symlink(secret, join(directory, 'out.txt'))
    await symlink('../../../../../../../../../../etc', join(directory, 'up'))
    expect(await said(`get data/up/hostname ${local}/stolen`)).toMatch(/not found|Failure/)
    expect(await said(`get data/up ${local}/stolen`)).toMatch(/not found|Failure|leads out of the folder/)
    expect(await said('ls ../../..')).toContain('data')
    expect(await said(`get data/../../../../../../${secret} ${local}/stolen`)).toMatch(/not found|No such file/)
    expect(await said(`get data/out/secret ${local}/stolen`)).toMatch(/not found|Failure|not a regular/)
    expect(await said(`get data/out.txt ${local}/stolen`)).toMatch(/not a regular file|Failure/)
    expect(await said(`put ${local}/in.bin data/out/made`)).toMatch(/Failure|No such file/)
    expect(await said(`put ${local}/in.bin data/out.txt`)).toMatch(/Failure/)
    expect(await said('ln data/tree/a data/hard')).toMatch(/does not support|unsupported/)
    expect(await said('rename data/out.txt ../../out.txt')).toMatch(/Permission denied/)
    expect(await said(`get data/out.txt/. ${local}/stolen`)).not.toContain('100%')
    await expect(stat(join(local, 'stolen'))).rejects.toThrow('ENOENT')
    await expect(stat(join(local, 'made'))).rejects.toThrow('ENOENT')
    expect(await readFile(secret, 'utf8')).toBe('secret')
    await Promise.all(['out', 'out.txt', 'up'].map(name => unlink(join(directory, name))))
  })

  test('a directory that a session swaps for a link during a write leads nowhere else', async () => {
    const outside = join(local, 'outside')
    await mkdir(outside)
    await mkdir(join(directory, 'swap'))
    const race = { isOver: false }
    const swapping = (async () => {
      while (!race.isOver) {
        await rename(join(directory, 'swap'), join(directory, 'kept')).catch(() => undefined)
        await symlink(outside, join(directory, 'swap')).catch(() => undefined)
        await new Promise(resolve => setImmediate(resolve))
        await unlink(join(directory, 'swap')).catch(() => undefined)
        await rename(join(directory, 'kept'), join(directory, 'swap')).catch(() => undefined)
      }
    })()
    await writeFile(join(local, 'small'), 'small')
    const lines = Array.from({ length: 200 }, (_, index) => `-put ${local}/small data/swap/${index}`)
    await sftp(lines)
    race.isOver = true
    await swapping
    expect(await readdir(outside)).toEqual([])
    expect((await readdir(join(directory, 'swap'))).length).toBeGreaterThan(0)
    await rm(join(directory, 'swap'), { recursive: true })
  })

  test('whatever a session exchanges while files are read, renamed, deleted and changed, nothing of the host is', async () => {
    const hostile = await owner.api.createFolder({ body: { name: 'arena' } })
    const arena = { directory: directoryOf(hostile), outside: join(local, 'host') }
    await fillArena(arena)
    const got = join(local, 'got')
    await mkdir(got)
    await writeFile(join(local, 'inside'), INSIDE)
    const lines = (turn: string) => [
      '-ls -l arena/dir',
      ...['file', 'dir/f', 'hard', 'inner/f', 'inner-file', 'inner/secret'].map(
        name => `-get arena/${name} ${got}/${turn}-${name.replace('/', '-')}`,
      ),
      `-get -r arena/dir ${got}/${turn}-tree`,
      '-chmod 600 arena/file',
      `-get -r arena/inner ${got}/${turn}-linked`,
      `-put ${local}/inside arena/inner/${turn}-linked`,
      '-chmod 600 arena/inner-file',
      `-put ${local}/inside arena/dir/${turn}`,
      `-rename arena/dir/${turn} arena/dir/${turn}-renamed`,
      `-rm arena/dir/${turn}-renamed`,
      '-rm arena/dir/f',
      `-put ${local}/inside arena/dir/f`,
      `-put ${local}/inside arena/file`,
      `-mkdir arena/dir/${turn}-made`,
      `-rmdir arena/dir/${turn}-made`,
    ]
    {
      await using _swapping = await startSwapping(arena)
      const ends = performance.now() + RACE_MS
      const use = async (client: number) => {
        for (let turn = 0; performance.now() < ends; turn++) {
          await sftp([0, 1, 2, 3].flatMap(part => lines(`${client}-${turn}-${part}`)))
        }
      }
      await Promise.all([use(1), use(2)])
    }
    await expectUntouched(arena, [arena.directory, got])
    // Some reads reached the real file during the race.
    expect(await readdir(got)).not.toEqual([])
  })
})

describe('permissions', () => {
  let member: User
  let alias: { config: string; alias: string }
  beforeAll(async () => {
    member = await manager.addUser('member@example.org')
    await owner.api.inviteToFolder({
      params: { id: folder.id },
      body: { email: 'member@example.org', permission: 'ro' },
    })
    const { items } = await member.api.listFolderInvitations()
    for (const { id } of items) await member.api.acceptFolderInvitation({ params: { id } })
    const theirs = stack.use(await proxyOf(member, join(local, 'ssh-member')))
    const { hostAlias } = await theirs.sftp.open({})
    alias = { config: join(local, 'ssh-member/berth/config'), alias: hostAlias }
    await writeFile(join(directory, 'read.txt'), 'read me')
  })

  async function permit(permission: 'ro' | 'rw' | 'delete') {
    await owner.api.updateFolderMember({ params: { id: folder.id, userId: member.id }, body: { permission } })
    // A right counts as valid for two seconds after it was read.
    await new Promise(resolve => setTimeout(resolve, 2_100))
  }

  test('read-only: files are listed and read, and nothing is changed', async () => {
    expect((await sftp([`get data/read.txt ${local}/read.txt`, 'ls -l data'], alias)).ok).toBe(true)
    for (const line of [
      `put ${local}/read.txt data/new`,
      `put ${local}/read.txt data/read.txt`,
      'rm data/read.txt',
      'mkdir data/d',
      'rename data/read.txt data/r',
      'chmod 777 data/read.txt',
    ]) {
      expect((await sftp([line], alias)).out, line).toMatch(/Permission denied|dest open/)
    }
    expect(await readFile(join(directory, 'read.txt'), 'utf8')).toBe('read me')
  })

  test.each([
    ['was deleted', ['rm data/mine']],
    ['was deleted by another program', ['!rm DIRECTORY/mine']],
    ['was replaced', [`put LOCAL/read.txt data/next`, 'rename data/next data/mine']],
  ])(
    'read and write: a file of somebody else is not own because it got the inode of an own one that %s',
    async (_how, steps) => {
      await permit('rw')
      await writeFile(join(local, 'read.txt'), 'read me')
      for (const theft of ['rm data/theirs', 'rename data/theirs data/taken']) {
        const lines = [
          `put LOCAL/read.txt data/mine`,
          ...steps,
          `!rm -f DIRECTORY/theirs && echo theirs >DIRECTORY/theirs && chmod 666 DIRECTORY/theirs`,
          theft,
        ].map(line => line.replaceAll('LOCAL', local).replaceAll('DIRECTORY', directory))
        const { ok, out } = await sftp(lines, alias)
        expect(ok).toBe(false)
        expect(out).toContain('Permission denied')
        expect(await readFile(join(directory, 'theirs'), 'utf8')).toBe('theirs\n')
        await rm(join(directory, 'mine'), { force: true })
      }
      await rm(join(directory, 'theirs'))
    },
  )

  test('read and write: own files may be renamed and deleted, others not; withdrawing the permission ends access to an open file', async () => {
    await permit('rw')
    const first = await sftp(
      [
        `put ${local}/read.txt data/new.part`,
        'rename data/new.part data/new',
        `put ${local}/read.txt data/mine`,
        'rm data/mine',
      ],
      alias,
    )
    expect(first).toMatchObject({ ok: true })
    expect((await sftp(['rm data/new'], alias)).out).toMatch(/Permission denied/)
    expect((await sftp(['rename data/read.txt data/other'], alias)).out).toMatch(/Permission denied/)
    await permit('delete')
    expect(await sftp(['rename data/new data/newer', 'rm data/newer'], alias)).toMatchObject({ ok: true })
  })

  test('a folder that is no longer shared disappears', async () => {
    await owner.api.deleteFolderMember({ params: { id: folder.id, userId: member.id } })
    expect((await sftp(['ls data'], alias)).out).toMatch(/not found|No such file/)
  })
})

test('without the right key nobody gets in, and there is no shell', async () => {
  const { port } = kit.port
  const options = [
    '-F',
    'none',
    '-o',
    'BatchMode=yes',
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-p',
    String(port),
  ]
  const key = join(local, 'foreign')
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const foreign = run('ssh', [...options, '-o', 'IdentitiesOnly=yes', '-i', key, 'work@127.0.0.1', '-s', 'sftp'])
  await expect(foreign).rejects.toMatchObject({
    stderr: expect.stringContaining('Permission denied (publickey)') as string,
  })
  const own = [...options, '-o', 'IdentitiesOnly=yes', '-i', kit.identityFile, 'work@127.0.0.1']
  await expect(run('ssh', [...own, 'id'])).rejects.toMatchObject({
    stderr: expect.stringMatching(/by SFTP only/) as string,
  })
  await expect(run('ssh', ['-W', '127.0.0.1:22', ...own])).rejects.toMatchObject({
    stderr: expect.stringMatching(/open failed/) as string,
  })

  // The key of the account also opens the port, from the moment it is stored.
  await owner.api.setSshPublicKey({ body: { publicKey: await readFile(`${key}.pub`, 'utf8') } })
  const batch = join(local, 'account-batch')
  await writeFile(batch, 'ls')
  const listed = await run('sftp', [
    '-F',
    'none',
    '-o',
    'BatchMode=yes',
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-P',
    String(port),
    '-o',
    'IdentitiesOnly=yes',
    '-i',
    key,
    '-b',
    batch,
    'anybody@127.0.0.1',
  ])
  expect(listed.stdout).toContain('data')
})

test('bytes that are not SSH or SFTP end only their own connection', async () => {
  const socket = createConnection(kit.port.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(randomBytes(4096))
  const raw = run('sh', ['-c', `head -c 100000 /dev/urandom | ssh -F ${ssh}/berth/config ${kit.hostAlias} -s sftp`])
  await raw.catch(() => undefined)
  socket.destroy()
  expect((await sftp(['ls data'])).ok).toBe(true)
})

test('the connection ends with its sign-in', async () => {
  const other = await manager.signIn({ email: 'owner@example.org', password: 'Their-own-pass-1' })
  const theirs = stack.use(await proxyOf({ ...owner, token: other.token }, join(local, 'ssh-other')))
  const { hostAlias } = await theirs.sftp.open({ onPortTaken: 'random' })
  const child = execFile('sftp', ['-F', join(local, 'ssh-other/berth/config'), hostAlias])
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.stdin?.on('error', () => undefined) // The program may notice the end on its own, before its next command.
  let out = ''
  child.stdout?.on('data', (chunk: Buffer | string) => (out += String(chunk)))
  child.stdin?.write('ls\n')
  await expect.poll(() => out).toContain('data')
  await other.api.logout()
  // The program notices the end at its next command. If the connection still existed, the command would be answered, and the program would
  // stay.
  child.stdin?.write('ls\n')
  await ended
  const again = await sftp(['ls'], { config: join(local, 'ssh-other/berth/config'), alias: hostAlias })
  expect(again).toMatchObject({ ok: false, out: expect.stringContaining('Berth: ') as string })
})

test('PuTTY, WinSCP and FileZilla: the PPK file and the fingerprint', async context => {
  if (!(await has('psftp'))) return context.skip('no psftp')
  const content = randomBytes(700_001)
  await writeFile(join(local, 'p.bin'), content)
  const batch = join(local, 'psftp-batch')
  await writeFile(
    batch,
    ['cd data', `put ${local}/p.bin p.bin`, `get p.bin ${local}/p.back`, 'del p.bin', 'quit'].join('\n'),
  )
  await run('psftp', ['-batch', '-b', batch, ...kit.commands.psftp.split(' ').slice(1)], {
    env: { ...process.env, HOME: local },
  })
  expect((await readFile(join(local, 'p.back'))).equals(content)).toBe(true)
  expect((await proxy.sftp.keyFile('filezilla')).content).toContain('<RemoteDir>1 0</RemoteDir>')
})

test('rclone copies a tree, checks it and deletes it', async context => {
  if (!(await has('rclone'))) return context.skip('no rclone')
  const config = join(local, 'rclone.conf')
  const rclone = (...args: string[]) => run('rclone', ['--config', config, ...args])
  await run('sh', ['-c', `RCLONE_CONFIG=${config} ${kit.commands.rclone}`])
  const tree = join(local, 'rclone')
  await mkdir(join(tree, 'deep'), { recursive: true })
  for (let i = 0; i < 30; i++) await writeFile(join(tree, i % 2 ? 'deep' : '', `${i}.bin`), randomBytes(i * 1000))
  await rclone('copy', tree, 'berth:data/rclone')
  await rclone('check', tree, 'berth:data/rclone', '--download')
  expect((await stat(join(directory, 'rclone/deep/7.bin'))).size).toBe(7000)
  await symlink('deep/7.bin', join(directory, 'rclone/link'))
  await symlink('deep', join(directory, 'rclone/linked'))
  await rclone('copy', 'berth:data/rclone', join(local, 'rclone-back'))
  expect((await stat(join(local, 'rclone-back/link'))).size).toBe(7000)
  expect((await stat(join(local, 'rclone-back/linked/7.bin'))).size).toBe(7000)
  // As on every server that follows links, rclone would otherwise delete through them.
  for (const name of ['link', 'linked']) await unlink(join(directory, 'rclone', name))
  await rclone('purge', 'berth:data/rclone')
  expect(await readdir(directory)).not.toContain('rclone')
})

test('lftp mirrors a directory', async context => {
  if (!(await has('lftp'))) return context.skip('no lftp')
  await mkdir(join(directory, 'mirror/sub'), { recursive: true })
  for (let i = 0; i < 20; i++) await writeFile(join(directory, 'mirror/sub', String(i)), String(i))
  await chmod(join(directory, 'mirror/sub/1'), 0o600)
  const program = `set sftp:connect-program "ssh -a -x -F ${ssh}/berth/config"; open sftp://${kit.hostAlias}; mirror data/mirror ${local}/mirror; bye`
  await run('lftp', ['-c', program], { env: { ...process.env, HOME: local } })
  expect(await readdir(join(local, 'mirror/sub'))).toHaveLength(20)
})

test('sshfs mounts a folder as a file system', async context => {
  const isPossible = (await has('sshfs')) && (await stat('/dev/fuse').catch(() => undefined))
  if (!isPossible) return context.skip('no sshfs or no FUSE')
  const mount = join(local, 'mount')
  await mkdir(mount)
  try {
    await run('sshfs', ['-F', join(ssh, 'berth/config'), `${kit.hostAlias}:/data`, mount])
  } catch {
    return context.skip('FUSE is not permitted here')
  }
  try {
    await writeFile(join(mount, 'file'), randomBytes(300_000))
    await rename(join(mount, 'file'), join(mount, 'renamed'))
    expect((await stat(join(directory, 'renamed'))).size).toBe(300_000)
    await expect(link(join(mount, 'renamed'), join(mount, 'hard'))).rejects.toThrow()
    await unlink(join(mount, 'renamed'))
  } finally {
    await run('fusermount', ['-u', mount]).catch(() => run('umount', ['-l', mount]))
  }
})

test('on a mounted port, df tells of free room at the top, and rsync -a finds nothing to repeat', async context => {
  const isPossible = (await has('sshfs')) && (await has('rsync')) && (await stat('/dev/fuse').catch(() => undefined))
  if (!isPossible) return context.skip('no sshfs, no rsync or no FUSE')
  expect(await said('df /')).toMatch(/Avail[^]*\d+%/)
  const mount = join(local, 'mount-top')
  await mkdir(mount)
  try {
    await run('sshfs', ['-F', join(ssh, 'berth/config'), `${kit.hostAlias}:/`, mount])
  } catch {
    return context.skip('FUSE is not permitted here')
  }
  try {
    const { bavail, blocks } = await statfs(mount)
    expect(bavail).toBeGreaterThan(0)
    expect(blocks).toBeGreaterThan(bavail)
    const source = join(local, 'modes')
    await mkdir(join(source, 'in'), { recursive: true })
    for (const mode of [0o444, 0o440, 0o555, 0o400, 0o600, 0o644, 0o755]) {
      await writeFile(join(source, 'in', mode.toString(8)), 'text', { mode })
      await chmod(join(source, 'in', mode.toString(8)), mode)
    }
    const rsync = () => run('rsync', ['-a', '-i', `${source}/`, join(mount, 'data/modes')])
    await rsync()
    expect((await stat(join(directory, 'modes/in/444'))).mode & 0o777).toBe(0o444)
    expect((await rsync()).stdout).toBe('')
    // A file that nobody may read stays readable by Berth.
    await chmod(join(mount, 'data/modes/in/644'), 0)
    expect((await stat(join(directory, 'modes/in/644'))).mode & 0o777).toBe(0o400)
  } finally {
    await run('fusermount', ['-u', mount]).catch(() => run('umount', ['-l', mount]))
    await rm(join(directory, 'modes'), { recursive: true })
  }
})

test('the audit log has the connection, and each change with its path', async () => {
  const admin = await manager.signIn()
  const entries = async () => (await admin.api.listAuditLog({ query: { limit: 200 } })).items
  await expect
    .poll(entries)
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'connectSftp', actor: 'owner@example.org' }),
        expect.objectContaining({ action: 'changeFilesBySftp', target: `folder:${folder.id}` }),
      ]),
    )
})

test('the audit log hides SFTP connections of superadmins from admins of their domain', async () => {
  const chief = await manager.addUser('chief@example.org', 'superadmin')
  const lead = await manager.addUser('lead-of-chief@example.org', 'domain_admin')
  const directoryOfChief = join(local, 'ssh-of-chief')
  await using ofChief = await proxyOf(chief, directoryOfChief, join(local, 'proxy-of-chief'))
  const { hostAlias: alias } = await ofChief.sftp.open({})
  expect(await sftp(['ls'], { config: join(directoryOfChief, 'berth/config'), alias })).toMatchObject({ ok: true })
  const connections = async (api: User['api']) =>
    (await api.listAuditLog({ query: { action: 'connectSftp', actor: chief.id } })).items
  await expect.poll(() => connections(chief.api)).toHaveLength(1)
  expect(await connections(lead.api)).toEqual([])
})
