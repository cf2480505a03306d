import { inPairs } from '#base/hex-pairs'
import { certificateState } from '#manager/contract'
import { type Check, ok, warning } from '../check.ts'

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
    const state = certificateState(found, now)
    const says =
      `https with a certificate ${SOURCES[source]} (${issuer}), until ${notAfter.slice(0, 10)}. ` +
      `SHA-256 ${fingerprint}; of its key ${inPairs(keyFingerprint)}.`
    if (state === 'good') return ok(says)
    if (problem !== null) return warning(`${says} It was not renewed: ${problem}`, 'See docs/admin/tls.md.')
    return warning(
      `${says} ${state === 'ended' ? 'It has ended' : 'It ends within two weeks'}.`,
      'Replace its files; Berth reads them within seconds. See docs/admin/tls.md.',
    )
  },
}
