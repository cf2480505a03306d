import { inPairs } from '#manager/contract'
import { type Check, ok, warning } from '../check.ts'

const DAY_MS = 86_400_000
/** Certificates that Berth renews are renewed long before; later than this, somebody has to act. */
const SOON_DAYS = 14

const SOURCES = {
  own: 'made by Berth; nobody vouches for it',
  files: 'of an administrator',
  acme: 'ordered by Berth',
} as const

export const certificate: Check = {
  name: 'certificate',
  run({ certificate: found, now }) {
    if (found === undefined) return undefined
    const { source, issuer, notAfter, fingerprint, keyFingerprint, problem } = found
    const days = Math.floor((new Date(notAfter).getTime() - now.getTime()) / DAY_MS)
    const says =
      `https with a certificate ${SOURCES[source]} (${issuer}), until ${notAfter.slice(0, 10)}. ` +
      `SHA-256 ${fingerprint}; of its key ${inPairs(keyFingerprint)}.`
    if (problem !== null) return warning(`${says} It was not renewed: ${problem}`, 'See docs/admin/tls.md.')
    if (days >= SOON_DAYS) return ok(says)
    return warning(
      `${says} ${days < 0 ? 'It has ended' : `It ends in ${days} days`}.`,
      'Replace its files; Berth reads them within seconds. See docs/admin/tls.md.',
    )
  },
}
