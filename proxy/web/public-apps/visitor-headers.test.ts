import { expect, test } from 'vitest'
import { visitorHeaders } from './visitor-headers.ts'

const BY_US = { inject: null, address: '192.0.2.7', scheme: 'https' } as const

test.each(['X-Forwarded-For', 'X_Forwarded_For', 'x-forwarded_host', 'X_Real_IP', 'Forwarded'])(
  'what a visitor says of itself in %s does not reach an app, also not one that gets fields as variables',
  name => {
    expect(visitorHeaders(['Accept', '*/*', name, '127.0.0.1'], BY_US)).toEqual([
      ...['Accept', '*/*'],
      ...['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'https'],
    ])
  },
)
