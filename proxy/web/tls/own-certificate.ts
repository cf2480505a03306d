import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  webcrypto,
  X509Certificate,
} from 'node:crypto'
import { chmod, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { because } from '#manager/contract'
import { readIfThere, writeFileAtomically } from '../../files.ts'
import { parseKey, readCertificate, type ServedCertificate, unusable } from './certificate.ts'

/** Browsers refuse certificates that are valid much longer than a year. */
const VALID_DAYS = 365
/** Time before its expiry at which the certificate is renewed. */
const RENEW_DAYS = 60
const DAY_MS = 86_400_000

/**
 * The certificate that Berth makes for itself, in `<directory>/own-key.pem` (0600) and `own-certificate.pem`. It is renewed before it
 * expires and when its names change, always with the same key: the desktop app, the command line and agents recognise the server by its
 * key.
 *
 * Threat model: no authority vouches for the certificate, so people compare its fingerprint once. Anybody who reads the key can impersonate
 * this server until every client trusts another key; only the user of the server can read it. A key file that others can read stops the
 * start.
 *
 * @param names DNS names, also with `*.`, and IP addresses
 * @throws AppError `certificate_unusable`
 */
export async function openOwnCertificate(
  directory: string,
  names: readonly string[],
  now: Date,
): Promise<ServedCertificate> {
  const files = { key: join(directory, 'own-key.pem'), cert: join(directory, 'own-certificate.pem') }
  const key = await openKey(files.key)
  const keyObject = parseKey(key, files.key)
  const known = await readIfThere(files.cert)
  if (known !== undefined && isGood(known, key, names, now)) return readCertificate({ cert: known, key }, files, now)
  const cert = await signOwn(keyObject, names, now)
  await writeFileAtomically(files.cert, cert, 0o644)
  return readCertificate({ cert, key }, files, now)
}

/** @returns PEM of the key in the file; the first call makes it (ECDSA, P-256). */
export async function openKey(file: string): Promise<string> {
  const known = await readIfThere(file)
  if (known !== undefined) {
    await keepOut(file)
    return known
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  await writeFileAtomically(file, key)
  return key
}

/** Makes a key file readable by its owner only; Windows has no such modes. @throws AppError `certificate_unusable` */
async function keepOut(file: string): Promise<void> {
  if (process.platform === 'win32' || ((await stat(file)).mode & 0o077) === 0) return
  await chmod(file, 0o600).catch((error: unknown) => {
    throw unusable(because('cert_key_open', { file }), error)
  })
}

function isGood(pem: string, key: string, names: readonly string[], now: Date): boolean {
  try {
    const { facts } = readCertificate({ cert: pem, key }, { cert: '', key: '' }, now)
    const left = new Date(facts.notAfter).getTime() - now.getTime()
    return isFor(names, new X509Certificate(pem), facts.names) && left > RENEW_DAYS * DAY_MS
  } catch {
    // Damaged, expired, or made with another key: renew it.
    return false
  }
}

/** Whether a certificate is for exactly these names. IPv6 addresses have many forms, so OpenSSL compares addresses. */
function isFor(names: readonly string[], certificate: X509Certificate, has: readonly string[]): boolean {
  const isIn = (name: string) => (isIP(name) === 0 ? has.includes(name) : certificate.checkIP(name) !== undefined)
  return names.length === has.length && names.every(isIn)
}

async function signOwn(key: KeyObject, names: readonly string[], now: Date): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const [privateKey, publicKey] = await Promise.all([
    webcrypto.subtle.importKey('pkcs8', key.export({ type: 'pkcs8', format: 'der' }), algorithm, false, ['sign']),
    webcrypto.subtle.importKey('spki', createPublicKey(key).export({ type: 'spki', format: 'der' }), algorithm, true, [
      'verify',
    ]),
  ])
  // The serial number is positive and differs from one certificate to the next (RFC 5280 section 4.1.2.2).
  const serialNumber = `01${createHash('sha256').update(`${now.toISOString()} ${names.join()}`).digest('hex').slice(0, 30)}`
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber,
      subject: 'CN=Berth',
      issuer: 'CN=Berth',
      // An hour of grace for clients whose clock is behind.
      notBefore: new Date(now.getTime() - 3_600_000),
      notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      publicKey,
      signingKey: privateKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension(
          names.map(name => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
        ),
      ],
    },
    webcrypto,
  )
  return `${certificate.toString('pem')}\n`
}
