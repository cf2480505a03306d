import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type SessionId } from '#manager/contract'
import { startProxy } from '#proxy'
import { type Berth, execute, type Outcome, root, runBerth, startBerth } from '../fixtures/berth.ts'

const run = promisify(execFile)
const POLL = { timeout: 120_000, interval: 500 }
let berth: Berth
let directory: string
let api: ApiClient
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-key-'))
  berth = await startBerth()
  api = await berth.api()
})
afterAll(async () => {
  await berth[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

/** `berth …` with only a keypair in its environment. */
async function signedCli(): Promise<{ cli: (...args: string[]) => Promise<Outcome>; end: () => Promise<unknown> }> {
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  const environment = {
    HOME: process.env.HOME,
    BERTH_CONFIG_DIR: join(directory, 'nobody'),
    BERTH_ENDPOINT: berth.url,
    BERTH_ACCESS_KEY: accessKey,
    BERTH_SECRET_KEY: secretKey,
  }
  return {
    cli: (...args) => runBerth(args, environment),
    end: () => api.updateKeypair({ params: { accessKey }, body: { active: false } }),
  }
}

async function launch(name: string): Promise<SessionId> {
  const { items } = await api.createSession({
    body: { image: 'berth/python:3.13', name, resources: { cpu: '0.5', mem: '268435456' } },
  })
  const id = items[0]?.id
  if (!id) throw new Error('no session')
  await expect.poll(async () => (await api.getSession({ params: { id } })).status, POLL).toBe('RUNNING')
  return id
}

/** OpenSSH with only this key, and the host key from the manager. */
async function ssh(sessionId: SessionId, identity: string, command: string): Promise<string> {
  const token = await signIn()
  await using proxy = await startProxy({
    managerUrl: berth.url,
    credentials: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    dataDir: join(directory, 'proxy'),
    userId: 'tester',
    sshDirectory: join(directory, 'openssh'),
  })
  const access = await api.getSshAccess({ params: { id: sessionId } })
  const tunnel = await proxy.tunnel.open({ sessionId, app: 'sshd' })
  const knownHosts = join(directory, 'known_hosts')
  await writeFile(knownHosts, `session ${access.hostKey}\n`)
  const options = ['BatchMode=yes', 'IdentitiesOnly=yes', 'IdentityAgent=none', 'HostKeyAlias=session']
  const flags = [...options, `UserKnownHostsFile=${knownHosts}`].flatMap(option => ['-o', option])
  const target = ['-p', String(tunnel.port), 'work@127.0.0.1', command]
  return (await run('ssh', ['-F', 'none', '-i', identity, ...flags, ...target])).stdout
}

async function signIn(): Promise<string> {
  const { token } = await api.login({
    body: { email: berth.adminEmail, password: berth.adminPassword, kind: 'token' },
  })
  return token ?? ''
}

test('a user generates a key, sees its private half once, and enters a new session with it by OpenSSH', async () => {
  const file = join(directory, 'generated')
  const made = await berth.cli('ssh-keypair', 'generate', '--out', file, '--json')
  expect(made.stderr).toBe('')
  expect(made.stdout).not.toContain('PRIVATE')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await berth.cli('ssh-keypair', 'generate', '--out', file)).code).toBe(2)
  const shown = await api.getSshKeypair()
  expect(shown.publicKey).toBe((await readFile(`${file}.pub`, 'utf8')).trim())
  expect((await run('ssh-keygen', ['-lf', `${file}.pub`])).stdout).toContain(shown.fingerprint)

  const id = await launch('generated')
  expect(await ssh(id, file, 'id -un')).toBe('work\n')
  const secret = (await readFile(file, 'utf8')).split('\n')[3] ?? ''
  const logs = await run('grep', ['-rlF', secret, join(berth.data, 'logs'), join(berth.data, 'agent')]).catch(
    () => null,
  )
  expect(logs).toBeNull()

  // From now on a different key: running sessions keep their original one.
  const own = join(directory, 'own')
  await run('ssh-keygen', ['-q', '-t', 'rsa', '-b', '2048', '-N', '', '-C', 'ada@laptop', '-f', own])
  const set = await berth.cli('ssh-keypair', 'set', `${own}.pub`)
  expect(set.stdout).toContain('ada@laptop')
  expect(await ssh(id, file, 'echo still')).toBe('still\n')
  await expect(ssh(id, own, 'true')).rejects.toThrow(/Permission denied/)
  const next = await launch('uploaded')
  expect(await ssh(next, own, 'id -u')).toBe((await run('id', ['-u', 'berth-session'])).stdout)
  await expect(ssh(next, file, 'true')).rejects.toThrow(/Permission denied/)

  await berth.cli('ssh-keypair', 'rm')
  expect((await berth.cli('ssh-keypair', 'show')).stdout).toContain('no SSH key')
})

test('input with more than a key is refused, and nothing of it is stored', async () => {
  const set = (publicKey: string) => api.setSshPublicKey({ body: { publicKey } })
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'good')])
  const good = (await readFile(join(directory, 'good.pub'), 'utf8')).trim()
  for (const wrong of [
    `command="sh" ${good}`,
    `${good}\n${good}`,
    await readFile(join(directory, 'good'), 'utf8'),
    'x',
  ])
    await expect(set(wrong)).rejects.toMatchObject({ code: 'ssh_key_invalid' })
  expect(await api.getSshKeypair()).toEqual({ publicKey: null, fingerprint: null })
})

test('a job with a keypair in its environment needs no sign-in: it launches, tunnels, reads the audit log', async () => {
  const { cli, end } = await signedCli()
  expect((await cli('whoami')).stdout).toContain(berth.adminEmail)
  const flags = [
    '--image',
    'berth/python:3.13',
    '--name',
    'nightly',
    '--cpu',
    '0.5',
    '--mem',
    '256m',
    '--wait',
    '--json',
  ]
  const created = await cli('session', 'create', ...flags)
  expect(created).toMatchObject({ code: 0 })
  expect((await cli('ssh', 'nightly', '--', 'echo from the job')).stdout).toBe('from the job\n')
  expect((await cli('admin', 'audit', 'ls', '--action', 'createSession')).stdout).toContain('Launch a session')
  const exported = await cli('admin', 'audit', 'export', '--format', 'csv', '--action', 'createSession')
  expect(exported.stdout.split('\r\n')[0]).toContain('id,at,actor')
  expect(exported.stdout).toContain('AKIA')
  expect((await cli('logout')).code).not.toBe(0)

  // The keypair's open tunnels end with it, though the session does not.
  const { id } = JSON.parse(created.stdout) as { id: SessionId }
  const began = 'touch began; sleep 600'
  const long = cli('ssh', 'nightly', '--', began)
  await expect.poll(async () => (await berth.cli('ssh', 'nightly', '--', 'ls')).stdout, POLL).toContain('began')
  await end()
  expect((await long).code).not.toBe(0)
  expect((await cli('whoami')).stderr).toContain('keypair_inactive')
  expect((await api.getSession({ params: { id } })).status).toBe('RUNNING')
})

test('half a keypair in the environment is an error', async () => {
  const env = { ...process.env, BERTH_ENDPOINT: berth.url, BERTH_ACCESS_KEY: 'AKIA', BERTH_SECRET_KEY: '' }
  const { code, stderr } = await execute([join(root, 'bin/berth'), 'whoami'], env)
  expect(code).not.toBe(0)
  expect(stderr).toContain('BERTH_SECRET_KEY')
})
