import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError, CauseFields, isAppError } from '#manager/contract'
import { readIfThere, writeFileAtomically } from '../../../files.ts'
import { coversName, readCertificate, type ServedCertificate } from '../certificate.ts'
import { type Reason, reasonOf, type Supply } from '../keeper.ts'
import { openKey } from '../own-certificate.ts'
import { type AcmeConfig, orderCertificate } from './acme-order.ts'
import { type Challenges } from './challenges.ts'
import { type Failures, renewAt, retryAt } from './renewal.ts'

export interface AcmeSupplyDeps {
  /** `<data>/tls`. */
  readonly directory: string
  readonly challenges: Challenges
  /** Presented until the authority has issued a certificate. */
  readonly own: Supply
  readonly order?: typeof orderCertificate
}

const FailuresOnDisk = z.object({
  count: z.int().min(1),
  lastAt: z.number(),
  why: z.string(),
  ...CauseFields,
  /** Configuration of the failed order: a changed one is tried at once. */
  of: z.string(),
})

/**
 * Certificates of an authority, in `acme-certificate.pem`, with `acme-key.pem` and the key of the account, `acme-account.pem` (0600). The
 * key stays the same at renewals, so that pins hold.
 *
 * The first look never orders: the server must listen before the authority can fetch a proof from it.
 */
export function acmeSupply(config: AcmeConfig, deps: AcmeSupplyDeps): Supply {
  const { directory, challenges, own, order = orderCertificate } = deps
  const file = (name: string) => join(directory, name)
  const files = { cert: file('acme-certificate.pem'), key: file('acme-key.pem') }
  const about = JSON.stringify(config)
  let known: ServedCertificate | undefined
  let hasStarted = false

  async function stored(now: Date): Promise<ServedCertificate | undefined> {
    const cert = await readIfThere(files.cert)
    if (cert === undefined) return undefined
    try {
      return readCertificate({ cert, key: await openKey(files.key) }, files, now)
    } catch (error) {
      // The certificate is damaged or expired: order another.
      if (isAppError(error)) return undefined
      throw error
    }
  }

  async function failures(): Promise<(Failures & Reason) | undefined> {
    const { data } = FailuresOnDisk.safeParse(parseJson((await readIfThere(file('acme-failures.json'))) ?? ''))
    return data?.of === about ? data : undefined
  }

  const isGood = ({ facts }: ServedCertificate, now: Date) =>
    config.ordered.every(name => facts.names.includes(name) || coversName(facts, name)) &&
    now.getTime() < renewAt(facts)

  async function orderNow(now: Date): Promise<ServedCertificate> {
    const before = await failures()
    try {
      const keys = { account: await openKey(file('acme-account.pem')), certificate: await openKey(files.key) }
      const cert = await order(config, keys, challenges)
      await writeFileAtomically(files.cert, cert, 0o644)
      await writeFileAtomically(file('acme-failures.json'), '{}')
      return readCertificate({ cert, key: keys.certificate }, files, new Date(Math.max(now.getTime(), Date.now())))
    } catch (error) {
      const next = { count: (before?.count ?? 0) + 1, lastAt: now.getTime(), ...reasonOf(error), of: about }
      await writeFileAtomically(file('acme-failures.json'), JSON.stringify(next))
      throw error
    }
  }

  return {
    kind: 'acme',
    async check(now) {
      known ??= await stored(now)
      const isFirst = !hasStarted
      hasStarted = true
      if (known && isGood(known, now)) return known
      if (isFirst) return known ?? (await own.check(now))
      const failed = await failures()
      // The pause after the last failure is not over: keep presenting the present certificate.
      if (failed && now.getTime() < retryAt(failed)) throw new AppError('certificate_order_failed', { ...failed })
      return (known = await orderNow(now))
    },
  }
}
