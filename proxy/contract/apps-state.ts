/** Kinds of faults of the address of apps, as a program that calls it finds them. */
export type AppsFaultCode = 'no_name' | 'unreachable' | 'wrong_certificate' | 'not_berth'

/** The address of apps, as the console of this computer has tried it. */
export interface AppsState {
  /** As in the settings, e.g. `https://*.apps.example.org`; null if none is set. */
  readonly address: string | null
  /** An address that would work, where none is set and Berth knows one. */
  readonly proposal: string | null
  /** Null if the address answers, and until it has been tried. `at`: the URL that was called. */
  readonly fault: { readonly code: AppsFaultCode; readonly at: string } | null
}

export const APPS_DOCS = 'docs/admin/published-apps.md'

const TEXTS: Readonly<Record<AppsFaultCode, { readonly says: string; readonly mend: string }>> = {
  no_name: {
    says: 'its name is not in the DNS',
    mend: 'Add it to the DNS, for the first form as a wildcard.',
  },
  unreachable: {
    says: 'nothing answers there',
    mend: 'Open the ports in the firewall; where a reverse proxy speaks TLS, it has to listen there too.',
  },
  wrong_certificate: {
    says: 'its certificate is for another name, or it does not speak TLS',
    mend: 'Use a certificate for this name, and https:// only where Berth or a reverse proxy speaks TLS.',
  },
  not_berth: {
    says: 'another program than Berth answers there',
    mend: 'Let the reverse proxy pass these names and ports on to Berth with their Host field, or choose other ports.',
  },
}

/** Text of a fault, the same in the log and in `berth doctor`. */
export const appsFaultText = ({ code, at }: NonNullable<AppsState['fault']>) => ({
  says: `Web apps for browsers on other computers: ${at} was called from this computer, and ${TEXTS[code].says}.`,
  mend: `${TEXTS[code].mend} See ${APPS_DOCS}.`,
})
