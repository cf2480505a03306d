import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { type KeyAgent, startKeyAgent } from '../fixtures/key-agent.ts'

/** SSH out of a session: the image has git and no ssh, the key stays on the user's own computer. */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
let berth: Berth
let agent: KeyAgent
let publicKey: string
let config: string
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-client-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  berth = stack.use(await startBerth())
  const key = join(directory, 'id_git')
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'mira@laptop', '-f', key])
  publicKey = (await readFile(`${key}.pub`, 'utf8')).trim()
  agent = stack.use(await startKeyAgent(key))
  const flags = ['--image', 'berth/python:3.13', '--name', 'develop', '--cpu', '0.5', '--mem', '256m', '--wait']
  const created = await berth.cli('session', 'create', ...flags)
  if (created.code !== 0) throw new Error(created.stderr)
  config = join(directory, 'ssh_config')
  await writeFile(config, (await berth.cli('ssh-config', 'develop')).stdout)
})
afterAll(() => stack.disposeAsync())

/** OpenSSH with the Host block and the user's key agent, and no other configuration. */
const ssh = async (script: string, ...flags: string[]) =>
  (await run('ssh', ['-F', config, ...flags, 'berth-develop', script], { env: agent.env })).stdout

test('git clones and pushes over ssh with a key of the forwarded agent, from a server that accepts only that key', async () => {
  // A git server: a separate sshd on a separate port, which accepts one key.
  const server = [
    `mkdir server && ssh-keygen -q -t ed25519 -N '' -f server/host_key && echo '${publicKey}' > server/authorized_keys`,
    'git init -q --bare -b main server/code.git',
    'sed -e "s#^HostKey .*#HostKey $HOME/server/host_key#" -e "s#^AuthorizedKeysFile .*#AuthorizedKeysFile $HOME/server/authorized_keys#" /opt/berth/etc/sshd_config > server/sshd_config',
    '/opt/berth/bin/sshd -f "$HOME/server/sshd_config" -p 2300',
    'echo "[127.0.0.1]:2300 $(cut -d" " -f1,2 server/host_key.pub)" > server/known && mkdir -p -m 700 .ssh && cp server/known .ssh/known_hosts',
  ].join(' && ')
  await ssh(server)
  expect(await ssh('ssh-add -L', '-A')).toBe(`${publicKey}\n`)
  const address = 'ssh://work@127.0.0.1:2300/home/work/server/code.git'
  const push = [
    `git clone -q ${address} first 2>/dev/null && cd first && echo hello > README && git add README`,
    'git -c user.name=Mira -c user.email=mira@example.org commit -q -m first && git push -q origin HEAD:main',
  ].join(' && ')
  await ssh(push, '-A')
  expect(await ssh(`git clone -q ${address} second && cat second/README`, '-A')).toBe('hello\n')
  await expect(ssh(`git ls-remote ${address}`)).rejects.toThrow(/Permission denied \(publickey\)/)
})

test('berth ssh passes -A on, and apps find the same tools', async () => {
  const environment = { ...agent.env, BERTH_CONFIG_DIR: join(berth.data, 'cli', berth.adminEmail) }
  const { stdout } = await run('bin/berth', ['ssh', 'develop', '-A', '--', 'ssh-add -L'], { env: environment })
  expect(stdout).toBe(`${publicKey}\n`)
  // An app such as Jupyter is started by the engine, with the environment of the container and without a login shell.
  const [session] = (await (await berth.api()).listSessions({})).items
  const inApp = ['exec', session?.kernels[0]?.containerId ?? '', 'git', 'ls-remote', 'ssh://127.0.0.1:1/x']
  await expect(run('docker', inApp)).rejects.toThrow('Connection refused')
})
