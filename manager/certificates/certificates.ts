import {
  type CertificateReport,
  type CertificateState,
  certificateState,
  type ConsoleCertificate,
} from '#manager/contract'
import { type TellDeps, tellSuperadmins } from '../mail/tell-superadmins.ts'
import { certificateMail } from '../mail/texts.ts'
import { listCertificates, saveCertificate } from '../store/operation/certificates.ts'

/** Certificates of the consoles: which console presents which, and whether somebody has to act. */
export interface Certificates {
  /** Stores a console's report; tells superadmins once about each new bad state. */
  report(console: string, report: CertificateReport): Promise<void>
  list(): Promise<ConsoleCertificate[]>
  /**
   * Fingerprint of the key to pin for an address, if Berth made the certificate for its host. Other certificates are verified by the
   * authorities of the system, because their key may change with a renewal.
   */
  keyFor(url: string): Promise<string | undefined>
}

export function createCertificates(deps: TellDeps): Certificates {
  const { store } = deps
  return {
    async report(console, report) {
      const state = certificateState(report, new Date(store.now()))
      const before = await saveCertificate(store.db, { console, report, state })
      if (state === 'good' || state === before) return
      const text = textOf(console, report, state)
      await tellSuperadmins(deps, {
        about: 'certificate',
        text,
        mail: (to, publicUrl) => certificateMail(to, { text, publicUrl }),
      })
    },
    list: () => listCertificates(store.db),
    async keyFor(url) {
      const { protocol, hostname } = new URL(url)
      if (protocol !== 'https:') return undefined
      const made = (await listCertificates(store.db)).filter(
        ({ issuer, isPublic, source, names }) =>
          source === 'own' && !isPublic && issuer === 'Berth' && names.includes(hostname),
      )
      const keys = new Set(made.map(({ keyFingerprint }) => keyFingerprint))
      // Several consoles with different keys answer at that name: no single key can be pinned.
      return keys.size === 1 ? [...keys][0] : undefined
    },
  }
}

const LONGEST = 500

/** The message to superadmins, as plain text for mails. */
function textOf(console: string, { notAfter, problem }: CertificateReport, state: CertificateState): string {
  const until = notAfter.slice(0, 10)
  const says =
    state === 'failed'
      ? `The certificate of the console ${console} (until ${until}) was not renewed: ${problem ?? ''}`
      : `The certificate of the console ${console} ${state === 'ended' ? 'ended' : 'ends'} on ${until}. Replace it.`
  return says.slice(0, LONGEST)
}
