import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

/** Parameters that every authenticator app understands: RFC 6238 with SHA-1, six digits, 30 seconds. */
export const TOTP_PERIOD_SECONDS = 30
const FORM = { algorithm: 'SHA1', digits: 6, period: TOTP_PERIOD_SECONDS } as const
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20
/** Number of time steps by which a phone's clock may be wrong. */
const WINDOW = 1

export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** The otpauth:// address that an app reads from a QR code. */
export function totpUri(secret: string, email: string): string {
  return new TOTP({ ...FORM, issuer: 'Berth', label: email, secret: Secret.fromBase32(secret) }).toString()
}

/** Finds the time step near `now` with this code; undefined if none has it. */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const totp = new TOTP({ ...FORM, secret: Secret.fromBase32(secret) })
  const delta = totp.validate({ token: code, timestamp: now, window: WINDOW })
  return delta === null ? undefined : Math.floor(now / 1000 / TOTP_PERIOD_SECONDS) + delta
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'

/** Creates a code of 80 random bits, so that storing its plain hash is enough: `k3vp-…` in four groups. */
export function newRecoveryCode(): string {
  // 32 divides 256, so the lower five bits of a random byte are as random as the byte.
  const letters = Array.from(randomBytes(16), byte => LETTERS.charAt(byte & 31)).join('')
  return letters.replace(/(.{4})(?=.)/g, '$1-')
}

export function hashRecoveryCode(code: string): Buffer {
  return createHash('sha256').update('berth.recovery-code\n').update(code).digest()
}

/** Parses a code as people type it: spaces, dashes and letter case do not matter. */
export function parseSecondFactor(text: string): { code: string } | { recoveryCode: string } {
  const plain = text.replace(/[\s-]/g, '').toLowerCase()
  return /^\d{6}$/.test(plain) ? { code: plain } : { recoveryCode: plain.replace(/(.{4})(?=.)/g, '$1-') }
}
