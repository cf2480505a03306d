import { expect, test } from 'vitest'
import { forwardedPort, portAppName } from './forwarded-port.ts'

test('the name of a port app says its protocol and its port', () => {
  expect(forwardedPort(portAppName('http', 8080))).toEqual({
    name: 'http-8080',
    title: 'Port 8080',
    protocol: 'http',
    path: '/',
    port: 8080,
  })
  expect(forwardedPort('tcp-65535')).toMatchObject({ protocol: 'tcp', port: 65_535 })
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
])('the name %j stands for no port', name => expect(forwardedPort(name)).toBeUndefined())
