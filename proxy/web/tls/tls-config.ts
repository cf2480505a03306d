import { isIP } from 'node:net'
import { z } from 'zod'
import { AppError, type AppsAddress } from '#manager/contract'
import { type AcmeConfig } from './acme/acme-order.ts'
import { type CertificateFiles } from './certificate-files.ts'

/** How the server gets its certificate; `names` are the names that it must cover. */
export type TlsConfig = {
  readonly names: readonly string[]
  /** A further port that only redirects to https. */
  readonly httpPort?: number | undefined
} & (
  | { readonly source: 'own' }
  | ({ readonly source: 'files' } & CertificateFiles)
  | ({ readonly source: 'acme' } & AcmeConfig)
)

/** Variables of TLS; `main.ts` documents them. */
export const TlsEnvironment = z.object({
  BERTH_TLS: z.enum(['on', 'off']).optional(),
  BERTH_TLS_CERTIFICATE: z.string().optional(),
  BERTH_TLS_KEY: z.string().optional(),
  BERTH_TLS_ACME: z.string().optional(),
  BERTH_TLS_ACME_EMAIL: z.email().optional(),
  BERTH_TLS_DNS_HOOK: z.string().optional(),
  BERTH_HTTP_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
})
type TlsEnvironment = z.infer<typeof TlsEnvironment>

export interface Surroundings {
  /** Undefined: loopback. */
  readonly host: string | undefined
  readonly allowedHosts: readonly string[]
  readonly trustedProxies: readonly string[]
  readonly appsAddress: AppsAddress | undefined
}

/**
 * Decides whether the server speaks TLS. It does if a certificate is configured, and by default if other computers can connect, unless a
 * reverse proxy in front of it is named.
 *
 * @returns undefined: plain http
 * @throws AppError `config_invalid`
 */
export function tlsConfigOf(read: TlsEnvironment, around: Surroundings): TlsConfig | undefined {
  const { BERTH_TLS_CERTIFICATE: certificate, BERTH_TLS_KEY: key, BERTH_HTTP_PORT: httpPort } = read
  if ((certificate === undefined) !== (key === undefined)) {
    const missing =
      key === undefined ? 'BERTH_TLS_KEY (console.tls.key)' : 'BERTH_TLS_CERTIFICATE (console.tls.certificate)'
    throw new AppError('config_invalid', {
      why: `${missing} is missing: a certificate and its key are given together.`,
    })
  }
  const acme = acmeOf(read, around)
  if (acme && certificate !== undefined) {
    const why = 'BERTH_TLS_ACME and BERTH_TLS_CERTIFICATE exclude each other: set one of them.'
    throw new AppError('config_invalid', { why })
  }
  const isOpen = around.host !== undefined && around.trustedProxies.length === 0
  const isOn =
    read.BERTH_TLS === undefined ? certificate !== undefined || acme !== undefined || isOpen : read.BERTH_TLS === 'on'
  if (!isOn) return undefined
  if (around.appsAddress?.scheme === 'http') {
    const why = 'BERTH_APPS_ADDRESS must begin with https://, because the console speaks TLS (BERTH_TLS).'
    throw new AppError('config_invalid', { why })
  }
  const shared = { names: namesOf(around), httpPort }
  if (acme) return { ...shared, ...acme, source: 'acme' }
  return certificate !== undefined && key !== undefined
    ? { ...shared, source: 'files', certificate, key }
    : { ...shared, source: 'own' }
}

const DIRECTORIES: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
}

/** @throws AppError `config_invalid` for names for which no authority issues certificates */
function acmeOf(read: TlsEnvironment, around: Surroundings): AcmeConfig | undefined {
  const { BERTH_TLS_ACME: named, BERTH_TLS_ACME_EMAIL: email, BERTH_TLS_DNS_HOOK: dnsHook } = read
  if (named === undefined) return undefined
  const directory = DIRECTORIES[named] ?? named
  if (!/^https:\/\/./.test(directory)) {
    const why = `BERTH_TLS_ACME is "${named}"; allowed: letsencrypt, letsencrypt-staging, or the https:// address of a directory.`
    throw new AppError('config_invalid', { why })
  }
  const ordered = namesOf(around).filter(name => isIP(name) === 0 && name !== 'localhost')
  if (ordered.length === 0) {
    throw new AppError('config_invalid', {
      why: 'BERTH_TLS_ACME needs the name of this server in BERTH_ALLOWED_HOSTS.',
    })
  }
  const wildcard = ordered.find(name => name.startsWith('*.'))
  if (wildcard !== undefined && dnsHook === undefined) {
    const why =
      `A certificate for ${wildcard} (BERTH_APPS_ADDRESS) is ordered by DNS: name a program in BERTH_TLS_DNS_HOOK ` +
      '(console.tls.dnsHook). See docs/admin/tls.md.'
    throw new AppError('config_invalid', { why })
  }
  return { directory, email, dnsHook, ordered }
}

/** Names that the server answers to: of this computer, of the configuration, and of published apps. */
function namesOf({ allowedHosts, appsAddress }: Surroundings): string[] {
  const given = allowedHosts.map(name => name.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))
  const ofApps = appsAddress?.kind === 'names' ? `*.${appsAddress.suffix}` : appsAddress?.host
  const here = ['localhost', '127.0.0.1', '::1']
  return [...new Set([...here, ...given, ...(ofApps === undefined ? [] : [ofApps])])].filter(isName)
}

const isName = (name: string) => isIP(name) !== 0 || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)
