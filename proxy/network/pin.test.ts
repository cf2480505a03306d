import { expect, test } from 'vitest'
import { mismatch, PIN } from './pin.ts'

const some = (pair: string) => Array.from({ length: 32 }, () => pair).join(':')
const [KEY, CERTIFICATE, OTHER_KEY, OTHER_CERTIFICATE] = [some('0A'), some('1B'), some('2C'), some('3D')]
const same = { key: KEY, fingerprint: CERTIFICATE }
const renewed = { key: KEY, fingerprint: OTHER_CERTIFICATE }
const another = { key: OTHER_KEY, fingerprint: OTHER_CERTIFICATE }

test('a server is known by its key; of another one the certificates are told, which people can compare', () => {
  const pin = `key:${KEY} certificate:${CERTIFICATE}`
  expect(pin).toMatch(PIN)
  expect(mismatch(pin, same)).toBeUndefined()
  expect(mismatch(pin, renewed)).toBeUndefined()
  expect(mismatch(pin, another)).toEqual({ known: CERTIFICATE, now: OTHER_CERTIFICATE })
})

test('pins of earlier versions count: a key alone, or one certificate', () => {
  expect(mismatch(`key:${KEY}`, renewed)).toBeUndefined()
  expect(mismatch(`key:${KEY}`, another)).toEqual({ known: KEY, now: OTHER_KEY })
  expect(mismatch(CERTIFICATE, same)).toBeUndefined()
  expect(mismatch(CERTIFICATE, renewed)).toEqual({ known: CERTIFICATE, now: OTHER_CERTIFICATE })
})

test.each(['', 'none', 'key:', KEY.toLowerCase(), `key:${KEY} certificate:`, `${KEY} ${KEY}`, `key:${KEY}\n${KEY}`])(
  'a damaged pin recognises nobody: %j',
  pin => {
    expect(pin).not.toMatch(PIN)
    expect(mismatch(pin, same)).toBeDefined()
  },
)
