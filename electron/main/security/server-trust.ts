import { mismatch, type Network } from '#proxy/network'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type Ask } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface ServerTrustDeps {
  readonly network: Pick<Network, 'shownBy'>
  readonly settings: SettingsFile
  readonly ask: Ask
  readonly language: () => Language
}

export interface ServerTrust {
  /**
   * Asks once whether to trust a server's certificate that no authority vouches for.
   *
   * @returns whether the key of the server is pinned now, so that the connection is worth another try
   */
  ask(origin: string): Promise<boolean>
  /**
   * Asks whether to trust the new certificate of a server that is known by another one. Call it only at the user's request.
   *
   * @returns whether the server's certificate is trusted now
   */
  askAnew(origin: string): Promise<boolean>
  /** Call when the user wants to connect: earlier refusals are forgotten. */
  forgetRefusals(): void
}

/**
 * Threat model: an attacker between us and a server can show another certificate. So the question shows the fingerprint to compare,
 * *Cancel* is its default, and it appears unasked only for a new server. A certificate of a known server with another key blocks
 * (`proxy/network/network.ts`) until the user asks to compare it; that question shows both fingerprints, and *Cancel* leaves all as it was.
 */
export function createServerTrust({ network, settings, ask, language }: ServerTrustDeps): ServerTrust {
  const refused = new Set<string>()

  async function isTrusted(message: string, detail: string, button: string): Promise<boolean> {
    const words = wordsOf(language())
    const { response } = await ask({
      type: 'warning',
      title: 'Berth',
      message,
      detail,
      buttons: [words.cancel, button],
      defaultId: 0,
      cancelId: 0,
      noLink: true,
    })
    return response === 1
  }
  const keep = (origin: string, pin: string) =>
    settings.update({ certificates: { ...settings.current.certificates, [origin]: pin } })

  return {
    async ask(origin) {
      if (settings.current.certificates[origin] !== undefined) return false
      const { fingerprint, pin } = await network.shownBy(new URL(origin))
      const about = `${origin} ${fingerprint}`
      // The page keeps retrying by itself.
      if (refused.has(about)) return false
      const words = wordsOf(language())
      const message = words.unknownCertificate(new URL(origin).host)
      if (!(await isTrusted(message, words.compareFingerprint(fingerprint), words.trustCertificate))) {
        refused.add(about)
        return false
      }
      await keep(origin, pin)
      return true
    },
    async askAnew(origin) {
      const known = settings.current.certificates[origin]
      if (known === undefined) return false
      const shown = await network.shownBy(new URL(origin))
      const changed = mismatch(known, shown)
      if (!changed) return true
      const words = wordsOf(language())
      const message = words.changedCertificate(new URL(origin).host)
      const detail = words.compareFingerprints(changed.known, changed.now)
      if (!(await isTrusted(message, detail, words.trustNewCertificate))) return false
      await keep(origin, shown.pin)
      return true
    },
    forgetRefusals: () => refused.clear(),
  }
}
