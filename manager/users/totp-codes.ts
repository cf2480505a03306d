import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

/** What every authenticator app understands: RFC 6238 with SHA-1, six digits, 30 seconds. */
export const TOTP_PERIOD_SECONDS = 30
const FORM = { algorithm: 'SHA1', digits: 6, period: TOTP_PERIOD_SECONDS } as const
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20
/** A phone's clock may be so many steps off. */
const WINDOW = 1

export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** The otpauth:// address that an app reads from a QR code. */
export function totpUri(secret: string, email: string): string {
  return new TOTP({ ...FORM, issuer: 'Berth', label: email, secret: Secret.fromBase32(secret) }).toString()
}

/** The step whose code this is, near `now`; undefined if it is none. */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const totp = new TOTP({ ...FORM, secret: Secret.fromBase32(secret) })
  const delta = totp.validate({ token: code, timestamp: now, window: WINDOW })
  return delta === null ? undefined : Math.floor(now / 1000 / TOTP_PERIOD_SECONDS) + delta
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'

/** 80 random bits, so that its plain hash is enough to keep: `k3vp-…` in four groups. */
export function newRecoveryCode(): string {
  // 32 divides 256, so the lower five bits of a random byte are as random as the byte.
  const letters = Array.from(randomBytes(16), byte => LETTERS.charAt(byte & 31)).join('')
  return letters.replace(/(.{4})(?=.)/g, '$1-')
}

export function hashRecoveryCode(code: string): Buffer {
  return createHash('sha256').update('berth.recovery-code\n').update(code).digest()
}

/** As people type it: spaces, dashes and letter case do not matter. */
export function parseSecondFactor(text: string): { code: string } | { recoveryCode: string } {
  const plain = text.replace(/[\s-]/g, '').toLowerCase()
  return /^\d{6}$/.test(plain) ? { code: plain } : { recoveryCode: plain.replace(/(.{4})(?=.)/g, '$1-') }
}
