import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '#base/parse-json'
import { AppError } from '#manager/contract/light'
import { type Pins } from '#proxy/connect-app'
import { configDirectory } from './directories.ts'
import { replaceFile } from './replace-file.ts'

const fileOf = (directory: string) => join(directory, 'certificates.json')
const DIGITS = '(?:[0-9A-F]{2}:){31}[0-9A-F]{2}'
const FINGERPRINT = new RegExp(`^${DIGITS}$`)
/** `PIN` of #proxy/network, which this file does not load: `berth stdio` reads the pins for every connection. */
const PIN = new RegExp(`^(?:key:${DIGITS}(?: certificate:${DIGITS})?|${DIGITS})$`)

/**
 * Servers whose certificate no authority vouches for, with the pin that the user accepted. Public data, but whoever changes it chooses
 * the servers that this user talks to, so the file belongs to the user only.
 *
 * @throws AppError `config_invalid` for a damaged file: to ignore it would forget what was trusted
 */
export async function readCertificates(directory = configDirectory()): Promise<Pins> {
  const text = await readFile(fileOf(directory), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return '{}'
    const said = error instanceof Error ? error.message : String(error)
    throw new AppError('config_invalid', { why: `${fileOf(directory)} cannot be read (${said}).` }, { cause: error })
  })
  const found = parseJson(text)
  const isValid =
    typeof found === 'object' &&
    found !== null &&
    Object.values(found).every(one => typeof one === 'string' && PIN.test(one))
  if (isValid) return found as Pins
  throw new AppError('config_invalid', { why: `${fileOf(directory)} is damaged. Remove it, and sign in again.` })
}

/** Trusts the holder of this pin, and nobody else, to be the server. */
export async function trustServer(origin: string, pin: string): Promise<void> {
  const all = { ...(await readCertificates()), [origin]: pin }
  await replaceFile(fileOf(configDirectory()), `${JSON.stringify(all, null, 2)}\n`)
}

/** @returns the form in which certificates show it: pairs of capital hexadecimal digits. @throws AppError `bad_request` */
export function parseFingerprint(text: string): string {
  const digits = text.replace(/^sha-?256[:= ]?/i, '').replaceAll(/[\s:]/g, '')
  const fingerprint = digits.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')
  if (FINGERPRINT.test(fingerprint)) return fingerprint
  throw new AppError('bad_request', { why: 'A fingerprint is 64 hexadecimal digits (SHA-256).' })
}
