import { type Entry } from 'ldapts'
import { cleanLine } from '#base/clean-text'
import { type DirectoryPerson, type DirectorySettings, Email, type SignInProviderSettings } from '#manager/contract'
import { type Person } from '../person.ts'
import { comparableName } from './escape.ts'

export const MOST_GROUPS = 2000
/** Attributes that say that an account is switched off. */
export const STATE_ATTRIBUTES = ['userAccountControl', 'nsAccountLock'] as const
/** ACCOUNTDISABLE in the attribute userAccountControl of Active Directory. */
const DISABLED = 0x2

/** The values of an attribute as texts. Servers may spell the name in their own case. */
export function valuesOf(entry: Entry, attribute: string): readonly (string | Buffer)[] {
  const key = Object.keys(entry).find(name => name.toLowerCase() === attribute.toLowerCase())
  const value = key === undefined ? [] : entry[key]
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

const textOf = (entry: Entry, attribute: string) => valuesOf(entry, attribute)[0]?.toString('utf8') ?? null

/** Attributes whose values are bytes, not text. */
export const isBinary = (attribute: string) => /^object(guid|sid)$/i.test(attribute)

/** The identifier of a person, with the attribute's name, so that the value of another attribute never counts as the same. */
export function subjectOf(entry: Entry, { idAttribute }: Pick<DirectorySettings, 'idAttribute'>): string | null {
  const [value] = valuesOf(entry, idAttribute)
  if (value === undefined || value.length === 0) return null
  const text = isBinary(idAttribute) ? Buffer.from(value).toString('hex') : value.toString('utf8')
  return text.length > 500 ? null : `${idAttribute.toLowerCase()}=${text}`
}

/** The value that `subjectOf` made a subject of; undefined for another attribute. */
export function valueOfSubject(
  subject: string,
  { idAttribute }: Pick<DirectorySettings, 'idAttribute'>,
): Buffer | string | undefined {
  const prefix = `${idAttribute.toLowerCase()}=`
  if (!subject.startsWith(prefix)) return undefined
  const text = subject.slice(prefix.length)
  return isBinary(idAttribute) ? Buffer.from(text, 'hex') : text
}

export function isDisabled(entry: Entry): boolean {
  const control = Number(textOf(entry, 'userAccountControl') ?? 0)
  return (control & DISABLED) !== 0 || textOf(entry, 'nsAccountLock')?.toLowerCase() === 'true'
}

export const groupsOfEntry = (entry: Entry): string[] =>
  valuesOf(entry, 'memberOf')
    .map(value => value.toString('utf8'))
    .slice(0, MOST_GROUPS)

/** Describes an entry as Berth reads it. The groups of the mapping are named as the mapping names them. */
export function describeEntry(
  entry: Entry,
  subject: string,
  settings: SignInProviderSettings & { readonly directory: DirectorySettings },
  groups: readonly string[],
): DirectoryPerson {
  const { directory, mapping } = settings
  const email = Email.safeParse(textOf(entry, directory.mailAttribute))
  const name = cleanLine(textOf(entry, directory.nameAttribute) ?? '', 64).trim()
  const held = new Set(groups.map(comparableName))
  return {
    dn: entry.dn,
    subject,
    email: email.success ? email.data.toLowerCase() : null,
    name: name === '' ? null : name,
    disabled: isDisabled(entry),
    groups: [...groups],
    mapped: [...new Set(mapping.map(({ group }) => group).filter(group => held.has(comparableName(group))))],
  }
}

/** A person as the sign-in takes one from any provider. */
export function personOfDirectory(
  { subject, email, name, mapped }: DirectoryPerson,
  { issuer, trustEmail }: Pick<SignInProviderSettings, 'issuer' | 'trustEmail'>,
): Person {
  return {
    issuer,
    subject,
    email,
    name,
    groups: mapped,
    isEmailVerified: email !== null && trustEmail,
    multiFactor: false,
  }
}
