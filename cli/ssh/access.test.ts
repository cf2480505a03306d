import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ApiClient, type Session } from '#manager/contract'
import { aliasesOf, hostBlock, sshOptions, stdioOptions, writeSshFiles } from './access.ts'

const run = promisify(execFile)
let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth 100%h test '))))
afterEach(() => rm(directory, { recursive: true }))

const session = { id: '01890000-0000-7000-8000-000000000001', name: 'train', sharedAs: null } as Session
const access = {
  user: 'work',
  hostKey: 'ssh-ed25519 AAAA',
  hostKeyFingerprint: 'SHA256:abc',
  privateKey: 'KEY',
  publicKey: 'ssh-ed25519 BBBB',
}
const words = { berth: ['/berth'], options: [] }
const atServer = { label: 'berth.example.org', isDefault: true }
const [aliases = []] = aliasesOf([session], atServer)
const apiWith = (sent: object) => ({ getSshAccess: () => Promise.resolve(sent) }) as unknown as ApiClient
const endpoint = 'https://berth.example.org'
const server = { api: apiWith(access), endpoint }

test('the key is readable by its owner only and the host key is pinned', async () => {
  const files = await writeSshFiles(server, session, directory)
  expect((await stat(files.identityFile)).mode & 0o777).toBe(0o600)
  expect(sshOptions(files, 2222).join(' ')).toContain('StrictHostKeyChecking=yes')
})

test('a server cannot replace the keys of a session of another server by naming one of its own alike', async () => {
  const files = await writeSshFiles(server, session, directory)
  const other = { api: apiWith({ ...access, hostKey: 'ssh-ed25519 EVIL' }), endpoint: 'https://berth.example.net' }
  await writeSshFiles(other, session, directory)
  expect(await readFile(files.knownHostsFile, 'utf8')).toContain('ssh-ed25519 AAAA')
})

test('OpenSSH reads the Host block as intended, also with spaces and percent signs in paths', async () => {
  const files = await writeSshFiles(server, session, directory)
  const config = join(directory, 'config')
  await writeFile(
    config,
    `${hostBlock({ ...session, aliases, files }, { ...words, berth: ['/opt/my node', '/opt/$(berth) %h dir/bin/berth'] })}\n`,
  )
  const { stdout } = await run('ssh', ['-F', config, '-G', 'berth-train'])
  expect(stdout).toContain(`identityfile ${files.identityFile.replaceAll('%', '%%')}`)
  expect(stdout).toContain('stricthostkeychecking true')
  expect(stdout).toContain(`hostkeyalias berth-${session.id}`)
  expect(stdout).toContain(`proxycommand '/opt/my node' '/opt/$(berth) %%h dir/bin/berth' stdio ${session.id}`)
})

test('a session that somebody else shares does not have the alias of an own one, nor does a second of the same', () => {
  const shared: Session = { ...session, sharedAs: 'use' }
  const second = { ...session, id: '01890000-0000-7000-8000-000000000002', name: 'Train' } as Session
  expect(aliasesOf([session, shared, second], atServer).map(([alias]) => alias)).toEqual([
    'berth-train',
    'berth-train-000001',
    'berth-train-000002',
  ])
})

test('the Host block names server and sign-in, because ssh may run in another environment and after another sign-in', async () => {
  const files = await writeSshFiles(server, session, directory)
  const options = stdioOptions({ configDirectory: 'my dir', endpoint: 'https://berth.example.org', byKeypair: false })
  const place = `--config-dir '${resolve('my dir')}' --endpoint https://berth.example.org`
  expect(hostBlock({ ...session, aliases, files }, { ...words, options })).toContain(
    `ProxyCommand /berth stdio ${place} ${session.id}`,
  )
})

test('with a keypair the Host block says so, and has no key', async () => {
  const files = await writeSshFiles(server, session, directory)
  const options = stdioOptions({ configDirectory: '/c', endpoint: 'https://berth.example.org', byKeypair: true })
  expect(hostBlock({ ...session, aliases, files }, { ...words, options })).toContain(
    `stdio --config-dir /c --endpoint https://berth.example.org --keypair ${session.id}`,
  )
})

test.each([
  ['user', { user: 'work\n  ProxyCommand touch /tmp/owned' }],
  ['host key', { hostKey: 'ssh-ed25519 AAAA\n* ssh-ed25519 BBBB' }],
])('a %s that would become a line of its own is refused before a file is written', async (_, wrong) => {
  const writing = writeSshFiles({ api: apiWith({ ...access, ...wrong }), endpoint }, session, directory)
  await expect(writing).rejects.toMatchObject({ code: 'bad_request' })
  expect(await readdir(directory)).toEqual([])
})

test('an id or a name that leads elsewhere is refused', async () => {
  const writing = writeSshFiles(server, { ...session, id: '../../x' } as unknown as Session, directory)
  await expect(writing).rejects.toMatchObject({ code: 'bad_request' })
  expect(() => aliasesOf([{ ...session, name: '*\n ProxyCommand x' }], atServer)).toThrow('not safe')
})

test('on Windows, which ignores the first line of scripts, the words of the command are quoted for its shells', async () => {
  const files = await writeSshFiles(server, session, directory)
  const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('win32')
  const block = hostBlock(
    { ...session, aliases, files },
    { ...words, berth: ['C:\\Program Files\\node.exe', 'C:\\berth\\bin\\berth'] },
  )
  platform.mockRestore()
  expect(block).toContain(`ProxyCommand "C:\\Program Files\\node.exe" "C:\\berth\\bin\\berth" "stdio" "${session.id}"`)
})
