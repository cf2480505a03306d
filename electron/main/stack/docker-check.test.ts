import { expect, test } from 'vitest'
import { checkDocker, installCommand, type DockerDeps } from './docker-check.ts'

const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))
const linux: DockerDeps = {
  platform: 'linux',
  env: {},
  osRelease: 'ID=ubuntu\nID_LIKE=debian\n',
  ping: () => Promise.resolve(),
  isInstalled: () => Promise.resolve(false),
}

test.each([
  ['an engine that answers', {}, { state: 'ready', command: null }],
  [
    'an engine of another user',
    { ping: failing('EACCES') },
    { state: 'denied', command: 'sudo usermod -aG docker $USER' },
  ],
  ['no engine', { ping: failing('ENOENT') }, { state: 'missing', command: 'sudo apt-get install -y docker.io' }],
  [
    'an engine that does not run',
    { ping: failing('ECONNREFUSED'), isInstalled: () => Promise.resolve(true) },
    { state: 'stopped', command: 'sudo systemctl enable --now docker' },
  ],
  ['macOS', { platform: 'darwin' }, { state: 'unsupported', command: null }],
  ['Windows', { platform: 'win32' }, { state: 'unsupported', command: null }],
  [
    'an engine elsewhere',
    { env: { DOCKER_HOST: 'tcp://far:2376' }, ping: failing('ENOENT') },
    { state: 'ready', command: null },
  ],
] as const)('%s', async (_name, change, expected) => {
  expect(await checkDocker({ ...linux, ...change })).toEqual(expected)
})

test('the socket of DOCKER_HOST is asked', async () => {
  const asked: string[] = []
  const ping = (path: string) => Promise.resolve(void asked.push(path))
  await checkDocker({ ...linux, env: { DOCKER_HOST: 'unix:///run/user/1000/docker.sock' }, ping })
  expect(asked).toEqual(['/run/user/1000/docker.sock'])
})

test.each([
  ['ID=fedora', /^sudo dnf/],
  ['ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"', /^sudo zypper/],
  ['ID=manjaro\nID_LIKE=arch', /^sudo pacman/],
])('a line for %s', (osRelease, line) => {
  expect(installCommand(osRelease)).toMatch(line)
})

test('no line for a system that is not known', () => {
  expect(installCommand('ID=nixos')).toBeNull()
})
