import { z } from 'zod'
import { DateTime, TextOf, TextUpTo } from '../plain-text.ts'
import { TextKeys } from '../causes/fields.ts'

/** Facts of a TLS certificate. Public: every client sees it. */
export const CertificateFacts = z.object({
  names: z.array(TextUpTo(260)).max(200).describe('DNS names and IP addresses, in lower case.'),
  issuer: TextUpTo(300).describe('Organization or name of the authority.'),
  fingerprint: TextUpTo(100).describe('SHA-256 of the certificate, as browsers show it: `AB:CD:…`.'),
  keyFingerprint: TextOf(64, /^[0-9a-f]{64}$/).describe(
    'SHA-256 of the public key (SPKI), hexadecimal. A renewal keeps it; apps, command line and agents pin it.',
  ),
  notBefore: DateTime(),
  notAfter: DateTime(),
  isPublic: z.boolean().describe('An authority signed it that browsers trust everywhere.'),
})
export type CertificateFacts = z.infer<typeof CertificateFacts>

/** `own`: Berth made it. `files`: an administrator gave it. `acme`: ordered from an authority. */
export const CertificateSource = z.enum(['own', 'files', 'acme'])
export type CertificateSource = z.infer<typeof CertificateSource>

/** A console's report about the certificate that it presents. */
export const CertificateReport = z.strictObject({
  source: CertificateSource,
  ...CertificateFacts.shape,
  problem: TextUpTo(1_000)
    .nullable()
    .describe('Why the last renewal or change of the files failed; null if it did not.'),
  problemBy: TextKeys.optional().describe('The same for translations.'),
})
export type CertificateReport = z.infer<typeof CertificateReport>

/** `ending`: somebody has to replace it soon. `failed`: its renewal, or a change of its files, failed. */
export const CertificateState = z.enum(['good', 'ending', 'ended', 'failed'])
export type CertificateState = z.infer<typeof CertificateState>

export const ConsoleCertificate = z
  .object({
    console: z.string().describe('Computer and port of the console.'),
    ...CertificateReport.shape,
    state: CertificateState,
    seenAt: z.iso.datetime().describe('Last report. A console without one for a day leaves the list.'),
  })
  .meta({ id: 'ConsoleCertificate' })
export type ConsoleCertificate = z.infer<typeof ConsoleCertificate>

const DAY_MS = 86_400_000
/** Berth renews certificates much earlier; if less time is left, somebody has to act. */
const SOON_DAYS = 14

export function certificateState(
  { notAfter, problem }: Pick<CertificateReport, 'notAfter' | 'problem'>,
  now: Date,
): CertificateState {
  const left = Date.parse(notAfter) - now.getTime()
  if (left < 0) return 'ended'
  if (problem !== null) return 'failed'
  return left < SOON_DAYS * DAY_MS ? 'ending' : 'good'
}
