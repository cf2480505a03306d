import { expect, test } from 'vitest'
import { ROUTES } from '#manager/contract'
import { readablePath } from './api-path.ts'

test.each(['/api/v1/auth/%6Cogin', '/api/v1/%61uth/login', ROUTES.login.path])(
  '%s is the path of the sign-in',
  path => {
    expect(readablePath(path)).toBe(ROUTES.login.path)
  },
)

test('other percent-encoded characters are decoded', () => {
  expect(readablePath('/api/v1/resource-groups/a%20b')).toBe('/api/v1/resource-groups/a b')
})

test.each([
  '/api/v1/auth%2Flogin',
  '/api/v1/auth%5clogin',
  '/api/v1/x/%2E%2e/auth/login',
  '/api/%256Cogin',
  '/api//v1',
  '/api/%E0%A4%A',
])('%s is refused', path => {
  expect(() => readablePath(path)).toThrow(expect.objectContaining({ code: 'bad_request' }))
})
