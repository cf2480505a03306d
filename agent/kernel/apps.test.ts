import { expect, test } from 'vitest'
import { withoutSecret } from './apps.ts'

const SECRET = '0f1e2d3c4b5a69788796a5b4'

test('the secret of an app does not get into the text that is shown of its output', () => {
  expect(withoutSecret(`open http://x/?token=${SECRET} or ?token=${SECRET}`, SECRET)).toBe(
    'open http://x/?token=*** or ?token=***',
  )
})

test('nor does the rest of a secret with which the kept output begins', () => {
  expect(withoutSecret(`${SECRET.slice(9)} is the token`, SECRET)).toBe('*** is the token')
})

test('output of an app without a secret stays as it is', () => {
  expect(withoutSecret('port in use', '')).toBe('port in use')
})
