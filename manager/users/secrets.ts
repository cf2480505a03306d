import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { isStrongPassword } from '#manager/contract'

/** 256 random bits; the prefix makes a leaked one easy to find for secret scanners. */
export function newToken(): string {
  return `berth_${randomBytes(32).toString('base64url')}`
}

/**
 * What is stored of a token. A plain hash is enough: the token is random, so there is nothing to guess or to look up,
 * and finding its row compares no secrets byte by byte.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Bound to its sign-in: derived from the token that only the cookie holds, so it needs no storage. */
export function csrfOf(token: string): string {
  return createHash('sha256').update(`berth.csrf\n${token}`).digest('base64url')
}

export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(hashToken(a), hashToken(b))
}

const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789' // nothing that looks like something else

/** About 100 bits, easy to type: `k3v9x-…`. Meets PASSWORD_RULE. */
export function newPassword(): string {
  const group = () => Array.from({ length: 5 }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('')
  const password = [group(), group(), group(), group()].join('-')
  return isStrongPassword(password) ? password : newPassword()
}
