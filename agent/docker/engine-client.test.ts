import { mkdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { createEngineClient, engineMessage, fromEngine, isEngineUnreachable } from './engine-client.ts'

test.each([
  [
    '(HTTP code 500) server error - Get "https://registry.example/v2/": no such host ',
    'Get "https://registry.example/v2/": no such host',
  ],
  ['(HTTP code 404) no such image - pull access denied - log in ', 'pull access denied - log in'],
  ['connect ECONNREFUSED /var/run/docker.sock', 'connect ECONNREFUSED /var/run/docker.sock'],
])('what the engine said is quoted without the HTTP noise: %s', (message, said) => {
  expect(engineMessage(new Error(message))).toBe(said)
})

test('the body of an answer goes before the text made of it', () => {
  const error = Object.assign(new Error('(HTTP code 409) conflict - [object Object]'), { json: { message: 'in use' } })
  expect(engineMessage(error)).toBe('in use')
})

test('a socket that is missing is an engine that does not answer; another file that is missing is not', async () => {
  const { calls } = createEngineClient('unix:///no/such/docker.sock')
  expect(isEngineUnreachable(await calls.ping().catch((error: unknown) => error))).toBe(true)

  const error: unknown = await mkdir('/no/such/folder').catch((error: unknown) => error)
  expect(isEngineUnreachable(error)).toBe(false)
  const said = "ENOENT: no such file or directory, mkdir '/no/such/folder'"
  expect(fromEngine(error, 'kernel_create_failed')).toMatchObject({
    code: 'kernel_create_failed',
    detail: { why: said },
  })
})
