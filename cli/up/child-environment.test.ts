import { expect, test } from 'vitest'
import { childEnvironment } from './child-environment.ts'

const SECRETS = { BERTH_ADMIN_PASSWORD: 'a', DATABASE_URL: 'b', DOCKER_HOST: 'c', AWS_SECRET_ACCESS_KEY: 'd' }

test.each([
  ['manager', { BERTH_ADMIN_PASSWORD: 'a', DATABASE_URL: 'b' }],
  ['agent', { DOCKER_HOST: 'c' }],
  ['console', {}],
])('the %s inherits its own secrets and nobody else’s', (server, own) => {
  expect(childEnvironment(server, SECRETS)).toEqual(own)
})

test('the address of the console moves the console alone', () => {
  const environment = { BERTH_HOST: '0.0.0.0' }
  expect(childEnvironment('console', environment)).toEqual(environment)
  expect(childEnvironment('manager', environment)).toEqual({})
  expect(childEnvironment('agent', environment)).toEqual({})
})

test('a token of the command line and ways to run code are not handed on; undefined is not text', () => {
  const environment = { BERTH_TOKEN: 'x', LD_PRELOAD: 'x', BERTH_CONFIG_DIR: 'x', BERTH_LOG: undefined }
  expect(childEnvironment('manager', environment)).toEqual({})
})

test('what a program needs on its computer and in its network arrives, in whatever case it is written', () => {
  const environment = {
    PATH: '/bin',
    HOME: '/home/a',
    LC_ALL: 'C.UTF-8',
    XDG_RUNTIME_DIR: '/run/user/1',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    SSL_CERT_FILE: '/ca.pem',
    https_proxy: 'http://proxy:3128',
    NO_PROXY: 'localhost',
    SystemRoot: 'C:\\Windows',
    BERTH_LOG: 'debug',
  }
  expect(childEnvironment('console', environment)).toEqual(environment)
})
