import { expect, test } from 'vitest'
import { parseSettings } from './sign-in-providers.ts'

test.each(['scopes=email profile', 'scopes=email,profile', 'scopes=["email","profile"]'])(
  '%s: lists are words as well as JSON',
  setting => {
    expect(parseSettings([setting])).toEqual({ scopes: ['email', 'profile'] })
  },
)
