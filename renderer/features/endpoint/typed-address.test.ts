import { expect, test } from 'vitest'
import { typedAddress } from './typed-address.ts'

test.each([
  ['berth.example.org', 'https://berth.example.org'],
  [' berth.example.org:8443 ', 'https://berth.example.org:8443'],
  ['http://localhost:8400', 'http://localhost:8400'],
  ['', null],
  ['ftp://berth.example.org', null],
  ['two words', null],
])('%j is %s', (typed, url) => expect(typedAddress(typed)).toBe(url))
