import { expect, test } from 'vitest'
import { type ServerName } from '../config/berth-toml/settings.ts'
import { childEnvironment } from './child-environment.ts'

const SECRETS = { BERTH_ADMIN_PASSWORD: 'a', DATABASE_URL: 'b', DOCKER_HOST: 'c', AWS_SECRET_ACCESS_KEY: 'd' }

test.each<[ServerName, Record<string, string>]>([
  ['manager', { BERTH_ADMIN_PASSWORD: 'a', DATABASE_URL: 'b' }],
  ['agent', { DOCKER_HOST: 'c' }],
  ['console', {}],
])('the %s inherits its own secrets and nobody else’s', (server, own) => {
  expect(childEnvironment(server, SECRETS)).toEqual(own)
})

test('the address of the console applies to the console only', () => {
  const environment = { BERTH_HOST: '0.0.0.0' }
  expect(childEnvironment('console', environment)).toEqual(environment)
  expect(childEnvironment('manager', environment)).toEqual({})
  expect(childEnvironment('agent', environment)).toEqual({})
})

test.each(['manager', 'agent', 'console'] as const)('the %s gets no credentials of the command line', server => {
  const environment = { BERTH_ACCESS_KEY: 'a', BERTH_SECRET_KEY: 'b', BERTH_TOKEN: 'c', BERTH_NOT_IN_ANY_TABLE: 'd' }
  expect(childEnvironment(server, environment)).toEqual({})
})

test('each server gets the variables that configure it', () => {
  const environment = {
    BERTH_MASTER_KEY_FILE: '/key',
    BERTH_ALLOWED_HOSTS: 'berth.example.org',
    BERTH_TOOLBOX_IMAGE: 'toolbox',
    DOCKER_TLS_VERIFY: '1',
    BERTH_CONSOLE_DIR: '/page',
    BERTH_JOIN: 'made by berth up itself',
  }
  expect(Object.keys(childEnvironment('manager', environment))).toEqual([
    'BERTH_MASTER_KEY_FILE',
    'BERTH_ALLOWED_HOSTS',
  ])
  expect(Object.keys(childEnvironment('agent', environment))).toEqual(['BERTH_TOOLBOX_IMAGE', 'DOCKER_TLS_VERIFY'])
  expect(Object.keys(childEnvironment('console', environment))).toEqual(['BERTH_ALLOWED_HOSTS', 'BERTH_CONSOLE_DIR'])
})

test('a token of the command line and variables that run code are not passed on; undefined is not text', () => {
  const environment = { BERTH_TOKEN: 'x', LD_PRELOAD: 'x', BERTH_CONFIG_DIR: 'x', BERTH_LOG: undefined }
  expect(childEnvironment('manager', environment)).toEqual({})
})

test('variables of the computer and the network reach the child, in upper or lower case', () => {
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
