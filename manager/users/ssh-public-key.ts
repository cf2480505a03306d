import { createHash } from 'node:crypto'
import ssh2 from 'ssh2'
import { AppError, because, type Because, SSH_KEY_TYPES } from '#manager/contract'

export interface PublicKey {
  /** Type, blob and comment on one line. */
  readonly line: string
  readonly fingerprint: string
}

const MIN_RSA_BITS = 2048
const MAX_COMMENT = 200

/**
 * Reads one line of a `.pub` file.
 *
 * Threat model: a key accepted here becomes a line of `authorized_keys` in the user's containers. That file has options
 * before the type (`command=…`, `from=…`), and a line break would begin another entry; so a line must begin with a type of
 * the list, its blob must be exactly one key of that type, and the comment is cleaned.
 *
 * @throws AppError `ssh_key_invalid`
 */
export function parsePublicKey(text: string): PublicKey {
  const line = text.trim()
  if (/PRIVATE KEY/.test(line)) throw invalid(because('ssh_key_private'))
  if (/[\r\n]/.test(line)) throw invalid(because('ssh_key_one_line'))
  const [, type = '', base64 = '', comment = ''] = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t](.*))?$/.exec(line) ?? []
  if (!isKnownType(type)) throw invalid(because('ssh_key_types', { types: SSH_KEY_TYPES.join(', ') }))
  const blob = Buffer.from(base64, 'base64')
  const parsed = ssh2.utils.parseKey(`${type} ${base64}`)
  if (parsed instanceof Error || parsed.isPrivateKey() || parsed.type !== type)
    throw invalid(because('ssh_key_unreadable'))
  const fields = fieldsOf(blob)
  if (fields?.[0]?.toString('latin1') !== type || fields.length !== FIELDS[type])
    throw invalid(because('ssh_key_unreadable'))
  if (type === 'ssh-ed25519' && fields[1]?.length !== 32) throw invalid(because('ssh_key_unreadable'))
  if (type === 'ssh-rsa' && bitsOf(fields[2]) < MIN_RSA_BITS)
    throw invalid(because('ssh_key_rsa_bits', { bits: MIN_RSA_BITS }))
  const cleaned = comment
    .replace(/[^\P{C}]/gu, '')
    .trim()
    .slice(0, MAX_COMMENT)
    .toWellFormed()
  return { line: `${type} ${base64}${cleaned === '' ? '' : ` ${cleaned}`}`, fingerprint: fingerprintOf(blob) }
}

type KeyType = (typeof SSH_KEY_TYPES)[number]
const isKnownType = (type: string): type is KeyType => (SSH_KEY_TYPES as readonly string[]).includes(type)

/** Number of strings in the blob of a key. RFC 4253 section 6.6, RFC 5656 section 3.1, RFC 8709 section 4 */
const FIELDS: Readonly<Record<KeyType, number>> = {
  'ssh-ed25519': 2,
  'ecdsa-sha2-nistp256': 3,
  'ecdsa-sha2-nistp384': 3,
  'ecdsa-sha2-nistp521': 3,
  'ssh-rsa': 3,
}

/** Splits a blob into its length-prefixed strings, to exactly the end (RFC 4251 section 5), or undefined. */
function fieldsOf(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = []
  for (let at = 0; at < blob.length;) {
    if (at + 4 > blob.length) return undefined
    const end = at + 4 + blob.readUInt32BE(at)
    if (end > blob.length) return undefined
    fields.push(blob.subarray(at + 4, end))
    at = end
  }
  return fields
}

/** Number of bits of a positive mpint. */
function bitsOf(number: Buffer | undefined): number {
  const digits = (number ?? Buffer.alloc(0)).toString('hex').replace(/^0+/, '')
  return digits === '' ? 0 : digits.length * 4 - Math.clz32(Number.parseInt(digits.charAt(0), 16)) + 28
}

/** Fingerprint of a line `ssh-ed25519 AAAA… comment`, as `ssh-keygen -l` and PuTTY show it. @see RFC 4253 section 6.6 for the key blob */
export function fingerprintOfLine(publicKey: string): string {
  return fingerprintOf(Buffer.from(publicKey.trim().split(/\s+/)[1] ?? '', 'base64'))
}

function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

function invalid(why: Because): AppError {
  return new AppError('ssh_key_invalid', why)
}
