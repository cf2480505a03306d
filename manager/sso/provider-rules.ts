import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { FilterParser } from 'ldapts'
import {
  AppError,
  because,
  type DirectorySettings,
  isPlainDirectory,
  type SignInProviderChange,
  SignInProviderSettings,
  type SignInProviderSpec,
} from '#manager/contract'
import { findDomain } from '../store/identity/domains.ts'
import { noSuchDomain } from '../store/missing.ts'
import { type Db } from '../store/schema.ts'

type Settings = SignInProviderSettings

/** The settings of a new provider. @throws AppError `bad_request` */
export function settingsOfSpec({ id, clientSecret: _, ...spec }: SignInProviderSpec): Settings {
  const { kind, issuer, clientId, directory } = spec
  if (kind === 'oidc') {
    if (directory !== null) throw takesNot(['directory'])
    if (issuer === undefined || clientId === undefined) {
      throw needs([...(issuer === undefined ? ['issuer'] : []), ...(clientId === undefined ? ['clientId'] : [])])
    }
    return { ...spec, issuer, clientId }
  }
  const foreign = { issuer, clientId }
  const given = Object.entries(foreign).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (given.length > 0) throw takesNot(given)
  if (directory === null) throw needs(['directory'])
  // A provider that is added later with the same id may be another directory, in which the same identifiers mean others.
  return asDirectory({ ...spec, issuer: `ldap:${id}:${randomBytes(8).toString('hex')}`, clientId: '' })
}

/** The settings of a provider after a change. @throws AppError `bad_request` */
export function changedSettings(
  before: Settings,
  { directory, ...change }: Omit<SignInProviderChange, 'clientSecret'>,
): Settings {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  if (before.kind === 'oidc') {
    if (directory !== undefined) throw takesNot(['directory'])
    return SignInProviderSettings.parse({ ...before, ...Object.fromEntries(given) })
  }
  const names = given.map(([name]) => name)
  const foreign = names.filter(name => ['issuer', 'clientId', 'scopes', 'emailClaim', 'groupsClaim'].includes(name))
  if (foreign.length > 0) throw takesNot(foreign)
  const next = { ...before, ...Object.fromEntries(given), directory: { ...before.directory, ...directory } }
  return asDirectory(SignInProviderSettings.parse(next))
}

/** Whether the secret was given for the provider that the new settings describe, and may be sent to it. */
export function keepsSecret(before: Settings, next: Settings): boolean {
  const client = ({ issuer, clientId, directory }: Settings) => [issuer, clientId, directory && sentTo(directory)]
  return isDeepStrictEqual(client(before), client(next))
}

const sentTo = ({ urls, startTls, caCertificates, bindDn }: DirectorySettings) => [
  urls,
  startTls,
  caCertificates,
  bindDn,
]

/** @param hasSecret whether a secret is stored, or comes with the change @throws AppError `bad_request`, `domain_not_found` */
export async function requireConsistent(trx: Db, next: Settings, hasSecret: boolean): Promise<void> {
  const { linkByEmail, emailDomains, mapping, groupsClaim, domain, directory } = next
  if (linkByEmail && emailDomains.length === 0) {
    throw new AppError('bad_request', because('link_needs_domains'))
  }
  if (mapping.length > 0 && groupsClaim === null) {
    throw new AppError('bad_request', because('mapping_needs_claim'))
  }
  if (directory) requireUsable(directory, hasSecret)
  if (!(await findDomain(trx, domain))) throw noSuchDomain(domain)
}

function requireUsable(directory: DirectorySettings, hasSecret: boolean): void {
  const { bindDn, directBind, userFilter, groups, groupFilter } = directory
  if ((bindDn === null) === (directBind === null)) throw new AppError('bad_request', because('directory_one_bind'))
  if (bindDn !== null && !hasSecret) throw needs(['clientSecret'])
  if (isPlainDirectory(directory)) throw new AppError('bad_request', because('directory_needs_tls'))
  requirePlace('userFilter', userFilter, ['{username}'])
  if (directBind !== null) requirePlace('directBind', directBind, ['{username}'])
  if (groups === 'search') requirePlace('groupFilter', groupFilter, ['{dn}', '{username}'])
  for (const filter of [userFilter, groupFilter]) requireFilter(filter)
}

function requirePlace(setting: string, text: string, places: readonly string[]): void {
  if (places.some(place => text.includes(place))) return
  throw new AppError('bad_request', because('directory_template', { setting, place: places.join(' / ') }))
}

function requireFilter(filter: string): void {
  try {
    FilterParser.parseString(filter.replaceAll(/\{\w+\}/g, 'x'))
  } catch (cause) {
    throw new AppError('bad_request', because('directory_filter', { filter }), { cause })
  }
}

/** The rest of Berth asks whether a provider names groups by its claim. */
function asDirectory(settings: Settings): Settings {
  return {
    ...settings,
    trustSecondFactor: false,
    groupsClaim: settings.directory?.groups === 'none' ? null : 'memberOf',
  }
}

const needs = (names: readonly string[]) =>
  new AppError('bad_request', because('provider_needs', { names: names.join(', ') }))
const takesNot = (names: readonly string[]) =>
  new AppError('bad_request', because('provider_takes_not', { names: names.join(', ') }))
