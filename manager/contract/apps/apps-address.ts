/**
 * Address at which browsers on other computers, and visitors of published apps, reach apps: a name below a wildcard for each app
 * (`https://*.apps.example.org`), or a port of one host for each (`https://berth.example.org:20000-20099`).
 */
export type AppsAddress =
  | { readonly kind: 'names'; readonly scheme: 'http' | 'https'; readonly suffix: string; readonly port: string }
  | {
      readonly kind: 'ports'
      readonly scheme: 'http' | 'https'
      readonly host: string
      readonly first: number
      readonly last: number
    }

/** Largest range, because each port of it is listened on. */
export const MOST_APP_PORTS = 200

const NAMES = /^(https?):\/\/\*\.([a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:\d{1,5})?$/
const PORTS = /^(https?):\/\/([a-z0-9]([a-z0-9.-]*[a-z0-9])?):(\d{1,5})-(\d{1,5})$/

/** @returns undefined if the text has neither form */
export function parseAppsAddress(text: string): AppsAddress | undefined {
  const [, scheme, suffix, , port = ''] = NAMES.exec(text) ?? []
  if (suffix !== undefined) return { kind: 'names', scheme: schemeOf(scheme), suffix, port }
  const [, portsScheme, host, , from, to] = PORTS.exec(text) ?? []
  const [first, last] = [Number(from), Number(to)]
  if (host === undefined || first < 1024 || last > 65_535 || last < first || last - first >= MOST_APP_PORTS)
    return undefined
  return { kind: 'ports', scheme: schemeOf(portsScheme), host, first, last }
}

const schemeOf = (text: string | undefined) => (text === 'https' ? 'https' : 'http')

/** The address in the form of the settings. */
export function appsAddressText(address: AppsAddress): string {
  return address.kind === 'names'
    ? `${address.scheme}://*.${address.suffix}${address.port}`
    : `${address.scheme}://${address.host}:${address.first}-${address.last}`
}

/** Address of a published app: its name if apps have names, its port if apps have ports. */
export interface AppPlace {
  readonly name: string
  readonly port: number | null
}

/** Form of the last part of an app's address, by which requests name the app: its name, or its port. */
export const APP_PLACE = /^([a-z2-7]{16}|\d{1,5})$/

/** Host field that browsers send to a published app. */
export function authorityOf(address: AppsAddress, { name, port }: AppPlace): string {
  return address.kind === 'names'
    ? `${name}.${address.suffix}${address.port}`
    : `${address.host}:${port ?? address.first}`
}

export function originOfApp(address: AppsAddress, place: AppPlace): string {
  return `${address.scheme}://${authorityOf(address, place)}`
}
