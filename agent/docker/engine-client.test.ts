import { expect, test } from 'vitest'
import { engineMessage } from './engine-client.ts'

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
