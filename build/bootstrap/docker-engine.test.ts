import { expect, test } from 'vitest'
import { engineRemedy, isLiveEngine } from './docker-engine.ts'
import { engineEndpoint } from './engine-client.ts'

const debian = { name: 'Debian', debianLike: true, root: true }
const fedora = { name: 'Fedora', debianLike: false, root: true }
const facts = { errorCode: 'ENOENT', dockerHost: undefined, platform: debian, dockerd: false, systemd: false }

test.each([
  ['Debian as root without Docker installs it', facts, { act: 'install' }],
  [
    'an installed engine is started by systemd',
    { ...facts, dockerd: true, systemd: true },
    { act: 'start', by: 'systemd' },
  ],
  ['and by us where nothing manages services', { ...facts, dockerd: true }, { act: 'start', by: 'ourselves' }],
  ['another system is left to its user', { ...facts, platform: fedora }, { act: 'explain' }],
  ['an ordinary user cannot install', { ...facts, platform: { ...debian, root: false } }, { act: 'explain' }],
  ['nor start', { ...facts, dockerd: true, platform: { ...debian, root: false } }, { act: 'explain' }],
  [
    'a socket without permission is explained, whatever is installed',
    { ...facts, errorCode: 'EACCES', dockerd: true },
    { act: 'explain' },
  ],
  [
    'an engine that hangs is not started again',
    { ...facts, errorCode: 'ETIMEDOUT', dockerd: true },
    { act: 'explain' },
  ],
  [
    'a chosen engine is never replaced by another',
    { ...facts, dockerHost: 'tcp://far:2375', dockerd: true },
    { act: 'explain' },
  ],
])('%s', (_title, given, expected) => {
  expect(engineRemedy(given)).toMatchObject(expected)
})

test('a pid file counts only while its process is a live engine', () => {
  expect(isLiveEngine('Name:\tdockerd\nState:\tS (sleeping)\n')).toBe(true)
  expect(isLiveEngine('Name:\tdockerd\nState:\tZ (zombie)\n')).toBe(false)
  expect(isLiveEngine('Name:\tnginx\nState:\tS (sleeping)\n')).toBe(false)
  expect(isLiveEngine(undefined)).toBe(false)
})

test.each([
  ['nothing set', {}, 'unix:///var/run/docker.sock'],
  ['DOCKER_HOST with a socket', { DOCKER_HOST: 'unix:///x.sock' }, 'unix:///x.sock'],
  ['DOCKER_HOST with an address', { DOCKER_HOST: 'tcp://10.0.0.1:2375' }, 'tcp://10.0.0.1:2375'],
  ['rootless Docker', { XDG_RUNTIME_DIR: '/run/user/1' }, 'unix:///run/user/1/docker.sock'],
  ['DOCKER_HOST over ssh', { DOCKER_HOST: 'ssh://far' }, undefined],
])('the engine is found with %s', (_case, env, host) => {
  expect(engineEndpoint(env, path => path === '/run/user/1/docker.sock')?.host).toBe(host)
})
