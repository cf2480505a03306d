import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { isStrongPassword } from '#manager/contract'

/** 256 random bits; the prefix helps secret scanners to find a leaked token. */
export function newToken(): string {
  return `berth_${randomBytes(32).toString('base64url')}`
}

/**
 * Hash of a token, the form in which it is stored. A plain hash is enough: the token is random, so it cannot be guessed, and finding its
 * row does not compare secrets byte by byte.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * The token of a browser's sign-in consists of both halves, so that one hash covers both and neither half is a token. An Authorization
 * header cannot contain a line break, so this token cannot be sent as a bearer token.
 */
export function browserToken(cookie: string, originSecret: string): string {
  return `${cookie}\n${originSecret}`
}

export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(hashToken(a), hashToken(b))
}

const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789' // no letters or digits that look alike

/** Makes a password of about 100 bits, easy to type: `k3v9x-…`. Meets `isStrongPassword`. */
export function newPassword(): string {
  const group = () => Array.from({ length: 5 }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('')
  const password = [group(), group(), group(), group()].join('-')
  return isStrongPassword(password) ? password : newPassword()
}

const CONSONANTS = 'BCDFGHJKLMNPQRSTVWXZ' // no letters that look alike, no words (RFC 8628, section 6.1)

/** Makes a word of about 34 bits to compare by eye: `BCDF-GHJK`. */
export function newWord(): string {
  const half = () => Array.from({ length: 4 }, () => CONSONANTS.charAt(randomInt(CONSONANTS.length))).join('')
  return `${half()}-${half()}`
}
