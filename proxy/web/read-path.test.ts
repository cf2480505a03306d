import { expect, test } from 'vitest'
import { readPath } from './read-path.ts'

test.each([
  ['/api/v1/me', '/api/v1/me'],
  ['/api/v1/openapi%2ejson?x=1', '/api/v1/openapi.json'],
  ['/api/v1/%65vents#?y', '/api/v1/events'],
  ['/api/v1/%zz', '/api/v1/%zz'],
])('%s is read as %s', (target, path) => {
  expect(readPath(target)).toBe(path)
})
