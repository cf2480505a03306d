import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { rootCertificates } from 'node:tls'
import { AppError, type Because, because, type CertificateFacts } from '#manager/contract'

/** A certificate with its key, checked: the server can present it. */
export interface ServedCertificate {
  /** PEM, the certificate of the server first, then those of its authorities. */
  readonly cert: string
  /** PEM. Secret: only the TLS listener reads it. */
  readonly key: string
  readonly facts: CertificateFacts
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Checks that a certificate and a key belong together and are valid now.
 *
 * @param named name of the two in the message, e.g. their paths
 * @throws AppError `certificate_unusable` with what to do next
 */
export function readCertificate(
  pem: { readonly cert: string; readonly key: string },
  named: { readonly cert: string; readonly key: string },
  now: Date,
): ServedCertificate {
  const [leaf, ...chain] = parseChain(pem.cert, named.cert)
  const key = parseKey(pem.key, named.key)
  if (!leaf.checkPrivateKey(key)) {
    throw unusable(because('cert_key_of_other', named))
  }
  const facts = factsOf(leaf, chain)
  if (now > leaf.validToDate) {
    throw unusable(because('cert_ended', { cert: named.cert, time: facts.notAfter }))
  }
  if (now < leaf.validFromDate) {
    throw unusable(because('cert_not_yet', { cert: named.cert, time: facts.notBefore }))
  }
  return { ...pem, facts }
}

function parseChain(pem: string, named: string): [X509Certificate, ...X509Certificate[]] {
  const [first, ...more] = pem.match(BLOCK) ?? []
  if (first === undefined) {
    throw unusable(because('cert_no_pem', { file: named }))
  }
  try {
    return [new X509Certificate(first), ...more.map(block => new X509Certificate(block))]
  } catch (error) {
    throw unusable(because('cert_damaged', { file: named }), error)
  }
}

/** @throws AppError `certificate_unusable` */
export function parseKey(pem: string, named: string): KeyObject {
  if (/ENCRYPTED/.test(pem)) {
    throw unusable(because('cert_key_encrypted', { file: named }))
  }
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw unusable(because('cert_no_key', { file: named }), error)
  }
}

function factsOf(leaf: X509Certificate, chain: readonly X509Certificate[]): CertificateFacts {
  return {
    names: namesOf(leaf),
    issuer: issuerOf(leaf),
    fingerprint: leaf.fingerprint256,
    keyFingerprint: createHash('sha256')
      .update(leaf.publicKey.export({ type: 'spki', format: 'der' }))
      .digest('hex'),
    notBefore: leaf.validFromDate.toISOString(),
    notAfter: leaf.validToDate.toISOString(),
    isPublic: isSignedByPublicRoot(leaf, chain),
  }
}

/** DNS names and IP addresses of the certificate, as Node prints them: `DNS:a.example.org, IP Address:10.0.0.1`. */
function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  return subjectAltName.split(', ').flatMap(entry => {
    const [, name] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? []
    return name === undefined ? [] : [usualForm(name)]
  })
}

function issuerOf({ issuer }: X509Certificate): string {
  const lines = issuer.split('\n')
  const valueOf = (name: string) => lines.find(line => line.startsWith(`${name}=`))?.slice(name.length + 1)
  return valueOf('O') ?? valueOf('CN') ?? issuer.replaceAll('\n', ', ')
}

let roots: readonly X509Certificate[] | undefined

/**
 * Whether an authority of Node's list, which is Mozilla's, has signed the chain. Browsers then trust the certificate everywhere, so they
 * may be told to insist on https (HSTS). An authority that only this computer knows does not count.
 */
function isSignedByPublicRoot(leaf: X509Certificate, chain: readonly X509Certificate[]): boolean {
  let last = leaf
  for (const next of chain) {
    if (!isIssued(last, next)) return false
    last = next
  }
  roots ??= rootCertificates.map(pem => new X509Certificate(pem))
  return roots.some(root => root.fingerprint256 === last.fingerprint256 || isIssued(last, root))
}

const isIssued = (certificate: X509Certificate, by: X509Certificate) =>
  certificate.checkIssued(by) && certificate.verify(by.publicKey)

export const unusable = (why: Because, cause?: unknown) => new AppError('certificate_unusable', why, { cause })

/** Whether the certificate covers a host name or an address; `*` stands for one label. */
export function coversName({ names }: { readonly names: readonly string[] }, name: string): boolean {
  const wanted = usualForm(name)
  const parent = wanted.includes('.') ? `*${wanted.slice(wanted.indexOf('.'))}` : undefined
  return names.some(one => usualForm(one) === wanted || one === parent)
}

/**
 * A name in small letters; an IPv6 address as browsers write it, because it has many forms and Node prints another one. Browsers write none with
 * a zone (`fe80::1%eth0`).
 */
const usualForm = (name: string) =>
  (isIPv6(name) ? URL.parse(`http://[${name}]`)?.hostname.slice(1, -1) : undefined) ?? name.toLowerCase()
