import { expect, test } from 'vitest'
import { forwardedPort, isWebApp, portAppName } from './forwarded-port.ts'

test('the name of a forwarded port has its protocol and number', () => {
  expect(forwardedPort(portAppName('http', 8080))).toEqual({
    name: 'http-8080',
    title: 'Port 8080',
    protocol: 'http',
    path: '/',
    port: 8080,
  })
  expect(forwardedPort('tcp-65535')).toMatchObject({ protocol: 'tcp', port: 65_535 })
  expect(forwardedPort('https-8443')).toMatchObject({ protocol: 'https', port: 8443 })
  const names = ['http-1', 'https-1', 'tcp-1']
  expect(names.filter(name => isWebApp(forwardedPort(name)!))).toEqual(['http-1', 'https-1'])
})

test.each([
  'http-0',
  'tcp-65536',
  'tcp-99999',
  'http-080',
  'http-',
  'udp-53',
  'http-8080x',
  ' http-8080',
  'http--1',
  'jupyterlab',
])('the name %j is not one of a forwarded port', name => expect(forwardedPort(name)).toBeUndefined())
