import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { startProxy } from '#proxy'
import { computerId } from '../../../proxy/ssh/computer-id.ts'
import { StandIn, tcpApp } from '../../fixtures/proxy-stand-in.ts'
import { aKeyPair, startSshServer } from '../../fixtures/ssh-server.ts'

const run = promisify(execFile)
let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function setUp(name = 'my-session', word = 'ran', at?: string) {
  const server = stack.use(await startSshServer(word))
  const manager = stack.use(await new StandIn([{ app: tcpApp('sshd'), port: server.port }], name).start())
  manager.sshAccess = {
    user: 'work',
    hostKey: server.hostKey,
    hostKeyFingerprint: server.hostKeyFingerprint,
    privateKey: server.sessionKey.private,
    publicKey: server.sessionKey.public,
  }
  const home = at ?? (await mkdtemp(join(tmpdir(), 'berth-test-ssh kit-')))
  if (at === undefined) stack.defer(() => rm(home, { recursive: true }))
  const sshDirectory = join(home, '.ssh')
  const start = async () =>
    stack.use(
      await startProxy({
        managerUrl: manager.url,
        credentials: manager.credentials,
        dataDir: join(home, 'data'),
        userId: manager.userId,
        sshDirectory,
      }),
    )
  const spec = { sessionId: manager.session.id, app: 'sshd' }
  const config = join(sshDirectory, 'config')
  const ssh = async (...args: string[]) => (await run('ssh', ['-F', config, ...args])).stdout
  return { home, manager, proxy: await start(), start, spec, sshDirectory, config, ssh, server }
}

test('OpenSSH connects by the alias alone, with the key and the pinned host key of the session', async () => {
  const { proxy, spec, ssh } = await setUp()
  const kit = await proxy.ssh.connect(spec)
  expect(kit).toMatchObject({ hostAlias: 'berth-my-session', user: 'work', configInstalled: true })
  expect(await ssh('-o', 'BatchMode=yes', kit.hostAlias, 'hostname')).toBe('ran hostname')
})

test('a session that somebody else shares never gets the alias of an own one of that name', async () => {
  const { manager, proxy, spec } = await setUp()
  Object.assign(manager.session, { sharedAs: 'use' })
  const { hostAlias } = await proxy.ssh.connect(spec)
  expect(hostAlias).toBe(`berth-my-session-${spec.sessionId.slice(-6)}`)
})

test('of two servers with a session of one name, each alias leads to its own, and none to the other when its tunnel closes', async () => {
  const first = await setUp('my-session', 'first')
  const second = await setUp('my-session', 'second', first.home)
  const [own, other] = [await first.proxy.ssh.connect(first.spec), await second.proxy.ssh.connect(second.spec)]
  expect([own.hostAlias, other.hostAlias]).toEqual([
    'berth-my-session',
    `berth-my-session.localhost.${new URL(second.manager.url).port}`,
  ])
  const ask = (alias: string) => first.ssh('-o', 'BatchMode=yes', alias, 'x')
  expect(await Promise.all([ask(own.hostAlias), ask(other.hostAlias)])).toEqual(['first x', 'second x'])
  await first.proxy.tunnel.close(own.tunnel.id)
  await second.proxy.ssh.connect(second.spec)
  await expect(ask(own.hostAlias)).rejects.toThrow('Could not resolve hostname')
  expect(await ask(other.hostAlias)).toBe('second x')
})

test('OpenSSH resolves the written configuration to the intended options', async () => {
  const { proxy, spec, ssh, sshDirectory } = await setUp()
  const kit = await proxy.ssh.connect(spec)
  const said = (await ssh('-G', kit.hostAlias)).split('\n')
  for (const line of [
    'hostname 127.0.0.1',
    `port ${kit.tunnel.port}`,
    'user work',
    `identityfile ${join(sshDirectory, 'berth', 'id_container-berth-my-session')}`,
    'identitiesonly yes',
    `hostkeyalias berth-${spec.sessionId}`,
    'stricthostkeychecking true',
    'serveraliveinterval 15',
  ]) {
    expect(said).toContain(line)
  }
  expect(said.find(line => line.startsWith('userknownhostsfile'))).toContain(join(sshDirectory, 'berth', 'known_hosts'))
})

test("the user's settings for all hosts do not send a session through a bastion or over an old connection", async () => {
  const { proxy, spec, ssh, config, sshDirectory } = await setUp()
  await mkdir(sshDirectory, { recursive: true })
  await writeFile(config, 'Host *\n  ProxyJump bastion.example.org\n  ControlMaster auto\n  ControlPath ~/.ssh/%h-%p\n')
  const { hostAlias } = await proxy.ssh.connect(spec)
  expect(await ssh('-G', hostAlias)).not.toMatch(/bastion|^controlpath/m)
  expect(await ssh('-o', 'BatchMode=yes', hostAlias, 'hostname')).toBe('ran hostname')
  await writeFile(config, (await readFile(config, 'utf8')).replace('ProxyJump', 'ProxyCommand nc'))
  expect(await ssh('-o', 'BatchMode=yes', hostAlias, 'hostname')).toBe('ran hostname')
})

test("the user's settings for all hosts do not lend the agent or the screen to a session, and do not keep ssh from signing in", async () => {
  const { proxy, spec, ssh, config, sshDirectory } = await setUp()
  await mkdir(sshDirectory, { recursive: true })
  const mine = [
    'ForwardAgent yes',
    'ForwardX11 yes',
    'PubkeyAuthentication no',
    'PreferredAuthentications password',
    'IdentityAgent ~/.1password/agent.sock',
    'AddKeysToAgent yes',
    'NoHostAuthenticationForLocalhost yes',
    'RemoteCommand tmux',
    'RequestTTY force',
    'PermitLocalCommand yes',
    'LocalCommand touch /tmp/owned',
  ]
  await writeFile(config, `Host *\n${mine.map(line => `  ${line}\n`).join('')}`)
  const { hostAlias } = await proxy.ssh.connect(spec)
  const said = (await ssh('-G', hostAlias)).split('\n')
  for (const line of [
    'forwardagent no',
    'forwardx11 no',
    'pubkeyauthentication true',
    'preferredauthentications publickey',
    'identityagent SSH_AUTH_SOCK',
    'addkeystoagent false',
    'nohostauthenticationforlocalhost no',
    'requesttty auto',
    'permitlocalcommand no',
  ]) {
    expect(said).toContain(line)
  }
  expect(await ssh('-o', 'BatchMode=yes', hostAlias, 'hostname')).toBe('ran hostname')
  // Requested by the user for this one connection.
  expect(await ssh('-A', '-G', hostAlias)).toContain('forwardagent yes')
})

test("the user's forwards and variables for all hosts do not reach a session by our commands, and are told", async () => {
  const { proxy, spec, ssh, config, sshDirectory } = await setUp()
  await mkdir(sshDirectory, { recursive: true })
  const forwards = ['LocalForward 18080 localhost:80', 'RemoteForward 19090 localhost:90', 'DynamicForward 11080']
  const mine = `Match all\n  SendEnv AWS_* LANG\nHost *\n${forwards.map(line => `  ${line}\n`).join('')}`
  await writeFile(config, mine)
  const { hostAlias, commands, forwards: told } = await proxy.ssh.connect(spec)
  expect(told).toEqual([
    'DynamicForward 11080',
    'LocalForward 18080 [localhost]:80',
    'RemoteForward 19090 [localhost]:90',
  ])
  expect(commands.ssh).toBe(`ssh -F '${join(sshDirectory, 'berth', 'config')}' berth-my-session`)
  const { stdout } = await run('sh', ['-c', commands.ssh.replace('ssh ', 'ssh -G ')])
  expect(stdout).not.toMatch(/^(local|remote|dynamic)forward |^sendenv/m)
  // Programs that read the user's file do not send variables either, and the user's block is unchanged.
  expect(await ssh('-G', hostAlias)).not.toMatch(/^sendenv/m)
  expect(await ssh('-G', 'elsewhere.example')).toContain('sendenv AWS_*')
  expect(await readFile(config, 'utf8')).toContain(mine)
  await proxy.ssh.connect(spec)
  expect((await readFile(config, 'utf8')).match(/SendEnv -/g)).toHaveLength(1)
})

test('a configuration that is read-only is left alone, and so is a link to a place that is not there', async () => {
  const { proxy, spec, config, sshDirectory } = await setUp()
  await mkdir(sshDirectory, { recursive: true })
  await writeFile(config, 'Host a\n', { mode: 0o400 })
  expect((await proxy.ssh.connect(spec)).configInstalled).toBe(false)
  expect(await readFile(config, 'utf8')).toBe('Host a\n')
  await rm(config)
  await symlink('/nowhere/at/all', config)
  expect((await proxy.ssh.connect(spec)).configInstalled).toBe(false)
  expect(await readlink(config)).toBe('/nowhere/at/all')
  await rm(config)
  const dotfiles = join(sshDirectory, 'dotfiles-config')
  await symlink('dotfiles-config', config)
  expect((await proxy.ssh.connect(spec)).configInstalled).toBe(true)
  expect(await readlink(config)).toBe('dotfiles-config')
  expect(await readFile(dotfiles, 'utf8')).toContain('Include')
})

test('another host key is refused', async () => {
  const { proxy, spec, manager, ssh } = await setUp()
  const impostor = aKeyPair().public.trim()
  if (manager.sshAccess) manager.sshAccess = { ...manager.sshAccess, hostKey: impostor }
  const kit = await proxy.ssh.connect(spec)
  await expect(ssh('-o', 'BatchMode=yes', kit.hostAlias, 'id')).rejects.toThrow(/host key|IDENTIFICATION/i)
})

test('keys and configuration are readable by their owner only, and are removed with the tunnel', async () => {
  const { proxy, spec, sshDirectory, config } = await setUp()
  const kit = await proxy.ssh.connect(spec)
  const ours = join(sshDirectory, 'berth')
  expect((await stat(ours)).mode & 0o777).toBe(0o700)
  for (const name of await readdir(ours)) expect((await stat(join(ours, name))).mode & 0o077).toBe(0)
  expect((await stat(config)).mode & 0o777).toBe(0o600)
  await proxy.tunnel.close(kit.tunnel.id)
  expect((await readdir(ours)).sort()).toEqual(['config', 'default-server', 'known_hosts'])
  expect(await readFile(join(ours, 'config'), 'utf8')).not.toContain('Host ')
  expect(await readFile(join(ours, 'known_hosts'), 'utf8')).toBe('')
})

test("the user's configuration keeps every byte, mode and link, and gets one line once", async () => {
  const { proxy, spec, sshDirectory, config } = await setUp()
  const dotfiles = join(sshDirectory, '..', 'dotfiles')
  // Not UTF-8: an ü as older editors wrote it.
  const mine = Buffer.from('# mine\nHost *\n\tIdentityFile ~/Schl\xfcssel', 'latin1')
  await mkdir(sshDirectory, { recursive: true })
  await writeFile(dotfiles, mine, { mode: 0o640 })
  await symlink(dotfiles, config)
  const kit = await proxy.ssh.connect(spec)
  await proxy.ssh.connect(spec)
  await proxy.tunnel.close(kit.tunnel.id)
  await proxy.ssh.connect(spec)
  const line = Buffer.from(`Include "${join(sshDirectory, 'berth', 'config')}"\n`)
  expect(await readFile(dotfiles)).toEqual(Buffer.concat([line, mine]))
  expect((await stat(dotfiles)).mode & 0o777).toBe(0o640)
})

test('without permission for ~/.ssh/config, the commands name our file instead', async () => {
  const { proxy, spec, config, sshDirectory } = await setUp()
  await proxy.saveSettings({ manageSshConfig: false, preferredSshPort: null })
  const kit = await proxy.ssh.connect(spec)
  expect(kit.configInstalled).toBe(false)
  await expect(stat(config)).rejects.toThrow('ENOENT')
  expect(kit.commands.ssh).toBe(`ssh -F '${join(sshDirectory, 'berth', 'config')}' berth-my-session`)
  const { stdout } = await run('sh', ['-c', `${kit.commands.ssh} uptime`])
  expect(stdout).toBe('ran uptime')
})

test('a configuration that cannot be written is left alone, and the commands name our file', async () => {
  const { proxy, spec, config, sshDirectory } = await setUp()
  await mkdir(sshDirectory, { recursive: true })
  await symlink('/proc/version', config)
  const kit = await proxy.ssh.connect(spec)
  expect(kit.configInstalled).toBe(false)
  const { stdout } = await run('sh', ['-c', `${kit.commands.ssh} uptime`])
  expect(stdout).toBe('ran uptime')
})

test('the next start removes blocks of dead processes and keeps those of living ones', async () => {
  const { proxy, spec, start, sshDirectory, ssh } = await setUp()
  const kit = await proxy.ssh.connect(spec)
  const file = join(sshDirectory, 'berth', 'config')
  const blockOf = (name: string, host: string) =>
    `\n# berth session=0190-${name} host=${host} pid=2147483646 run=gone alias=berth-${name} port=1\nHost berth-${name}\n`
  // If two computers share a home, each knows only its own processes.
  const blocks = [blockOf('old', await computerId()), blockOf('elsewhere', 'another-computer')]
  await writeFile(file, `${await readFile(file, 'utf8')}${blocks.join('')}`)
  await writeFile(join(sshDirectory, 'berth', 'id_container-berth-old'), 'key')
  await start()
  const after = await readFile(file, 'utf8')
  expect(after).not.toContain('berth-old')
  expect(after).toContain('Host berth-elsewhere')
  expect(await readdir(join(sshDirectory, 'berth'))).not.toContain('id_container-berth-old')
  expect(await ssh(kit.hostAlias, 'still here')).toBe('ran still here')
})

test('a kit whose tunnel closes while it is created is refused, and leaves nothing', async () => {
  const { proxy, spec, manager, sshDirectory } = await setUp()
  const released = Promise.withResolvers<undefined>()
  manager.held.set('ssh', released.promise)
  const made = expect(proxy.ssh.connect(spec)).rejects.toMatchObject({ code: 'tunnel_not_found' })
  await expect.poll(() => manager.seen.some(({ url }) => url.endsWith('/ssh'))).toBe(true)
  const [tunnel] = await proxy.tunnel.list()
  await proxy.tunnel.close(tunnel!.id)
  released.resolve(undefined)
  await made
  const left = await readdir(join(sshDirectory, 'berth'))
  expect(left.filter(name => name.startsWith('id_container'))).toEqual([])
})

test('the preferred port is used, and a second session learns who has it', async () => {
  const first = await setUp('first-session')
  const free = (await first.proxy.tunnel.open(first.spec)).port
  await first.proxy.tunnel.close((await first.proxy.tunnel.list())[0]!.id)
  await first.proxy.saveSettings({ manageSshConfig: true, preferredSshPort: free })
  const kit = await first.proxy.ssh.connect(first.spec)
  expect(kit.tunnel.port).toBe(free)
  expect(kit.commands.psftp).toContain(`-P ${free}`)
  const second = await setUp('second-session')
  await second.proxy.saveSettings({ manageSshConfig: true, preferredSshPort: free })
  await expect(second.proxy.ssh.connect(second.spec)).rejects.toMatchObject({
    code: 'port_in_use',
    detail: { port: free },
  })
  const random = await second.proxy.ssh.connect({ ...second.spec, onPortTaken: 'random' })
  expect(random.tunnel.port).not.toBe(free)
})

test('key files exist for OpenSSH, PuTTY and FileZilla', async () => {
  const { proxy, spec, manager, server } = await setUp()
  const { id } = manager.session
  expect(await proxy.ssh.keyFile(id, 'openssh')).toMatchObject({
    fileName: 'id_container',
    content: server.sessionKey.private,
  })
  expect((await proxy.ssh.keyFile(id, 'ppk')).content).toMatch(/^PuTTY-User-Key-File-3: ssh-ed25519\r\n/)
  const kit = await proxy.ssh.connect(spec)
  const site = await proxy.ssh.keyFile(id, 'filezilla')
  expect(site.content).toContain(`<Port>${kit.tunnel.port}</Port>`)
  expect(site.content).toContain(`<Keyfile>${kit.identityFile}.ppk</Keyfile>`)
  expect(site.content).toContain('<Protocol>1</Protocol>')
  expect(site.content).toContain('<Logontype>5</Logontype>')
})

test.each([
  ['user', { user: 'work\n  ProxyCommand touch /tmp/owned' }],
  ['host key', { hostKey: 'ssh-ed25519 AAAA\nevil ssh-ed25519 BBBB' }],
  ['fingerprint', { hostKeyFingerprint: 'SHA256:x; touch /tmp/owned' }],
])('a %s that would become a directive or a command is refused', async (_, wrong) => {
  const { proxy, spec, manager, config } = await setUp()
  if (manager.sshAccess) manager.sshAccess = { ...manager.sshAccess, ...wrong }
  await expect(proxy.ssh.connect(spec)).rejects.toMatchObject({ code: 'bad_request' })
  await expect(stat(config)).rejects.toThrow('ENOENT')
})

test('psftp accepts the PuTTY line of the kit and its pinned host key', async () => {
  const { proxy, spec } = await setUp()
  const kit = await proxy.ssh.connect(spec)
  const plink = kit.commands.psftp.replace(/^psftp/, 'plink -batch')
  const { stdout } = await run('sh', ['-c', `${plink} whoami`])
  expect(stdout).toBe('ran whoami')
})

test('a hostile server that names the session otherwise adds nothing to the configuration of ssh', async () => {
  const { manager, proxy, spec, ssh, sshDirectory } = await setUp()
  const id = `x\nHost *\n  ProxyCommand touch /tmp/owned\n# `
  Object.assign(manager.session, { toJSON: () => ({ ...manager.session, toJSON: undefined, id }) })
  const kit = await proxy.ssh.connect(spec)
  const written = await Promise.all(
    ['config', 'known_hosts'].map(name => readFile(join(sshDirectory, 'berth', name), 'utf8')),
  )
  expect(written.join('')).not.toContain('owned')
  expect(await ssh('-G', 'github.com')).not.toContain('owned')
  expect(await ssh('-G', kit.hostAlias)).toContain(`hostkeyalias berth-${spec.sessionId}`)
})

test('a hostile server that names the user by a path gets no files elsewhere', async () => {
  const { manager, sshDirectory } = await setUp()
  const dataDir = join(sshDirectory, '../data')
  const start = startProxy({
    managerUrl: manager.url,
    credentials: manager.credentials,
    dataDir,
    userId: '../../elsewhere',
    sshDirectory,
  })
  await expect(start).rejects.toMatchObject({ code: 'bad_request' })
  await expect(stat(join(dataDir, '../elsewhere'))).rejects.toMatchObject({ code: 'ENOENT' })
})
