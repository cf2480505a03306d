import { type Network } from '#proxy/network'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type Ask } from '../windows/questions.ts'
import { type Language, wordsOf } from '../windows/words.ts'

export interface ServerTrustDeps {
  readonly network: Pick<Network, 'shownBy'>
  readonly settings: SettingsFile
  readonly ask: Ask
  readonly language: () => Language
}

export interface ServerTrust {
  /**
   * Asks once whether to trust the certificate that a server shows and no authority vouches for.
   *
   * @returns whether the key of the server is pinned now, so that the connection is worth another try
   */
  ask(origin: string): Promise<boolean>
  /** The user wants to connect: a refusal of earlier counts no longer. */
  forgetRefusals(): void
}

/**
 * Threat model: whoever is on the way to a server can show a certificate of their own. So the question shows the fingerprint to
 * compare, *Cancel* is its default, and it comes only at the first sight of a server: a server that is known is never asked about again,
 * a certificate of it with another key blocks (`proxy/network/network.ts`) until the user takes the server off the list.
 */
export function createServerTrust({ network, settings, ask, language }: ServerTrustDeps): ServerTrust {
  const refused = new Set<string>()
  return {
    async ask(origin) {
      if (settings.current.certificates[origin] !== undefined) return false
      const { fingerprint, pin } = await network.shownBy(new URL(origin))
      const about = `${origin} ${fingerprint}`
      // The page goes on trying by itself.
      if (refused.has(about)) return false
      const words = wordsOf(language())
      const { response } = await ask({
        type: 'warning',
        title: 'Berth',
        message: words.unknownCertificate(new URL(origin).host),
        detail: words.compareFingerprint(fingerprint),
        buttons: [words.cancel, words.trustCertificate],
        defaultId: 0,
        cancelId: 0,
        noLink: true,
      })
      if (response !== 1) {
        refused.add(about)
        return false
      }
      await settings.update({ certificates: { ...settings.current.certificates, [origin]: pin } })
      return true
    },
    forgetRefusals: () => refused.clear(),
  }
}
