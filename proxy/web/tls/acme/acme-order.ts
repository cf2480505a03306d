import { defined } from '#base/defined'
import { AppError, because } from '#manager/contract'
import { type Challenges } from './challenges.ts'
import { runDnsHook } from './dns-hook.ts'

export interface AcmeConfig {
  /** URL of the authority's directory (RFC 8555 section 7.1.1). */
  readonly directory: string
  /** Address to which the authority may write before a certificate expires. */
  readonly email?: string | undefined
  /** Program that adds and removes TXT records in the DNS; without it the proof is by HTTP. */
  readonly dnsHook?: string | undefined
  /** DNS names of the certificate, including wildcards (`*.`). */
  readonly ordered: readonly string[]
}

export interface OrderKeys {
  /** PEM of the account at the authority. */
  readonly account: string
  /** PEM of the certificate. */
  readonly certificate: string
}

/** Limit for one call to the authority. */
const CALL_MS = 30_000

/**
 * Orders a certificate from an authority by ACME (RFC 8555). Setting BERTH_TLS_ACME accepts the terms of the authority.
 *
 * @returns PEM, the certificate first, then those of its authorities
 * @throws AppError `certificate_order_failed` with the reason of the authority
 */
export async function orderCertificate(config: AcmeConfig, keys: OrderKeys, challenges: Challenges): Promise<string> {
  const { directory, email, dnsHook, ordered } = config
  // Loaded on demand: only servers with such a certificate need it.
  const acme = await import('acme-client')
  acme.axios.defaults.timeout = CALL_MS
  const client = new acme.Client({ directoryUrl: directory, accountKey: keys.account })
  const kind = dnsHook === undefined ? 'http-01' : 'dns-01'
  const record = ({ identifier }: { identifier: { value: string } }) => `_acme-challenge.${identifier.value}`
  try {
    const [, csr] = await acme.crypto.createCsr({ altNames: [...ordered] }, keys.certificate)
    return await client.auto({
      csr,
      ...defined({ email }),
      termsOfServiceAgreed: true,
      challengePriority: [kind],
      // The authority checks from outside; this computer may not reach its own public name.
      skipChallengeVerification: true,
      async challengeCreateFn(authorization, { token }, proof) {
        if (dnsHook === undefined) challenges.set(token, proof)
        else await runDnsHook(dnsHook, 'add', record(authorization), proof)
      },
      async challengeRemoveFn(authorization, { token }, proof) {
        if (dnsHook === undefined) challenges.delete(token)
        else await runDnsHook(dnsHook, 'remove', record(authorization), proof)
      },
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const values = { authority: new URL(directory).host, names: ordered.join(', '), text: reason.slice(0, 500) }
    const why =
      dnsHook === undefined
        ? because('cert_not_issued_http', values)
        : because('cert_not_issued_dns', { ...values, program: dnsHook })
    throw new AppError('certificate_order_failed', why, { cause: error })
  }
}
