import fc from 'fast-check'
import { HOTP, Secret, TOTP } from 'otpauth'
import { describe, expect, test } from 'vitest'
import {
  hashRecoveryCode,
  newRecoveryCode,
  newTotpSecret,
  parseSecondFactor,
  stepOfCode,
  totpUri,
} from './totp-codes.ts'

/** RFC 6238 appendix B, SHA-1: the last six of its eight digits. */
const RFC_SECRET = Secret.fromUTF8('12345678901234567890').base32
const RFC = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
] as const

describe('codes', () => {
  test.each(RFC)('at %i s the code of the RFC is %s, and its time step is returned', (seconds, code) => {
    expect(stepOfCode(RFC_SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
  })

  test('a code is valid for its own time step and the ones beside it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 10 ** 8 }), fc.integer({ min: -4, max: 4 }), (step, off) => {
        const secret = newTotpSecret()
        const code = HOTP.generate({ secret: Secret.fromBase32(secret), counter: step + off })
        const near = [-1, 0, 1].map(one => HOTP.generate({ secret: Secret.fromBase32(secret), counter: step + one }))
        const found = stepOfCode(secret, code, step * 30_000 + 12_345)
        // Two steps may have the same code, once in a million.
        if (Math.abs(off) <= 1) expect(near[(found ?? 0) - step + 1]).toBe(code)
        else expect(found !== undefined).toBe(near.includes(code))
      }),
      { numRuns: 200 },
    )
  })

  test.each(['', '12345', '1234567', 'abcdef', '１２３４５６', '-12345', '1e5000'])('"%s" is not a code', text => {
    expect(stepOfCode(RFC_SECRET, text, 59_000)).toBeUndefined()
  })

  test('secrets have 160 bits and differ, and an app that reads the address makes the same codes', () => {
    const [one, other] = [newTotpSecret(), newTotpSecret()]
    expect(one).toMatch(/^[A-Z2-7]{32}$/)
    expect(one).not.toBe(other)
    const uri = totpUri(one, 'ada lovelace+1@example.org')
    expect(uri).not.toMatch(/[ +]/)
    expect(new URL(uri).searchParams.get('issuer')).toBe('Berth')
    const digits = new TOTP({ secret: Secret.fromBase32(new URL(uri).searchParams.get('secret') ?? '') })
    expect(stepOfCode(one, digits.generate({ timestamp: 90_000 }), 90_000)).toBe(3)
  })
})

describe('recovery codes', () => {
  test('recovery codes have 80 bits and are accepted however they are typed', () => {
    const codes = Array.from({ length: 100 }, newRecoveryCode)
    expect(new Set(codes).size).toBe(100)
    for (const code of codes) {
      expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
      for (const typed of [code, code.toUpperCase(), code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')} `]) {
        expect(parseSecondFactor(typed)).toEqual({ recoveryCode: code })
      }
    }
  })

  test('six digits, with or without spaces, are a code of the app', () => {
    for (const typed of ['123456', '123 456', ' 123456 ', '123-456']) {
      expect(parseSecondFactor(typed)).toEqual({ code: '123456' })
    }
  })

  test('the stored value reveals nothing about the code', () => {
    const code = newRecoveryCode()
    expect(hashRecoveryCode(code)).toHaveLength(32)
    expect(hashRecoveryCode(code).toString('hex')).not.toContain(code.replaceAll('-', ''))
    expect(hashRecoveryCode(code)).not.toEqual(hashRecoveryCode(newRecoveryCode()))
  })
})
