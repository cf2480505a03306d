import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { trustAlso } from '#proxy/certificates'
import { AppError, because } from '#manager/contract'
import { type Questions } from '../questions/questions.ts'
import { type SettingsFile } from './settings-file.ts'

export interface ExtraAuthorities {
  /** Trusts the authorities of the file in the settings, from now on. @throws if the file is gone or has no certificates */
  apply(): Promise<void>
  /** Lets the user choose a file; the present one stays if they cancel. @throws AppError `bad_request` for a file without certificates */
  choose(): Promise<void>
}

/**
 * Certificate authorities of a network, from a file that the user chooses: packages of the app ignore NODE_EXTRA_CA_CERTS, which another
 * program of the user could set.
 *
 * Threat model: anybody who can set such a file can impersonate any server. So the page can only open the system's file dialog, in which
 * the user chooses, or remove the file.
 */
export function createExtraAuthorities(
  { chooseFiles }: Pick<Questions, 'chooseFiles'>,
  settings: Pick<SettingsFile, 'current' | 'update'>,
): ExtraAuthorities {
  return {
    async apply() {
      const { caFile } = settings.current
      if (caFile !== null) trustAlso(certificatesIn(await readFile(caFile, 'utf8')))
    },
    async choose() {
      const [file] = await chooseFiles({
        properties: ['openFile'],
        filters: [{ name: 'PEM', extensions: ['pem', 'crt', 'cer'] }],
      })
      if (file === undefined) return
      const certificates = certificatesIn(await readFile(file, 'utf8'))
      if (certificates.length === 0) throw new AppError('bad_request', because('no_certificates_in', { file }))
      trustAlso(certificates)
      await settings.update({ caFile: file })
    },
  }
}

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** The readable certificates of a PEM file. */
export function certificatesIn(text: string): string[] {
  return (text.match(BLOCK) ?? []).filter(block => {
    try {
      return new X509Certificate(block).ca
    } catch {
      return false
    }
  })
}
