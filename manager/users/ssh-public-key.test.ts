import { generateKeyPairSync } from 'node:crypto'
import ssh2 from 'ssh2'
import { describe, expect, test } from 'vitest'
import { isAppError } from '#manager/contract'
import { fingerprintOfLine, parsePublicKey } from './ssh-public-key.ts'

const publicOf = (type: 'ed25519' | 'ecdsa' | 'rsa', bits?: number) =>
  ssh2.utils.generateKeyPairSync(type as 'rsa', { bits: bits ?? 256, comment: '' }).public.trim()
const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHCYz7Fz8zS4zQxwGv2b0o6yFfrzU7oS8iVz6q4rT8aB'
const why = (text: string): string => {
  try {
    parsePublicKey(text)
  } catch (error) {
    if (isAppError(error) && error.code === 'ssh_key_invalid') return error.message
    throw error
  }
  throw new Error('accepted')
}

describe('a public key', () => {
  test.each([
    ['ed25519', ED25519],
    ['ecdsa', publicOf('ecdsa', 256)],
    ['ecdsa', publicOf('ecdsa', 521)],
    ['rsa', publicOf('rsa', 2048)],
  ])('a key of type %s is accepted, with its comment, as one clean line', (_type, line) => {
    expect(parsePublicKey(line).line).toBe(line)
    expect(parsePublicKey(`  ${line}   ada@laptop the second \r\n`).line).toBe(`${line} ada@laptop the second`)
    expect(parsePublicKey(`${line} a\u0007b\u202ec`).line).toBe(`${line} abc`)
  })

  test('its fingerprint is the one that ssh-keygen shows', () => {
    // printf '%s' "$ED25519" | ssh-keygen -lf -
    expect(parsePublicKey(ED25519).fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
  })

  test.each([
    ['options before it', `command="/bin/sh" ${ED25519}`],
    ['a second line', `${ED25519}\n${ED25519}`],
    ['a carriage return', `${ED25519}\rssh-rsa AAAA`],
    ['another type than its blob', ED25519.replace('ssh-ed25519', 'ssh-rsa')],
    ['a type that is not on the list', ED25519.replace('ssh-ed25519', 'ssh-dss')],
    ['a certificate', ED25519.replace('ssh-ed25519', 'ssh-ed25519-cert-v01@openssh.com')],
    ['a cut blob', ED25519.slice(0, -8)],
    ['more behind the key', `${ED25519}AAAAB3Nz`],
    ['nothing', ''],
    ['the type alone', 'ssh-ed25519'],
  ])('a key with %s is refused', (_what, text) => {
    expect(why(text)).toContain('Not a usable SSH public key')
  })

  test('a private key, or one that is too short, is refused with the reason', () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    expect(why(pem)).toContain('private key')
    expect(why(publicOf('rsa', 1024))).toContain('2048 bits')
  })
})

test('the fingerprint has the form that ssh-keygen prints', () => {
  // ssh-keygen -lf of this key
  const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl github.com'
  expect(fingerprintOfLine(key)).toBe('SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU')
})
