import { z } from 'zod'
import { PlainText, TextOf, TextUpTo, TrimmedText } from '../plain-text.ts'

const LOOPBACK = /^ldap:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?\/?$/i

/** Address of an LDAP server: scheme, host and port only. */
const LdapUrl = TextOf(
  300,
  /^ldaps?:\/\/(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(:\d{1,5})?\/?$/i,
  'must be an address such as ldaps://dc1.example.org',
)

/** Name of an attribute, RFC 4512 section 1.4. */
const Attribute = TextOf(100, /^[a-z][a-z0-9-]{0,99}$/i, 'must be the name of an attribute, such as mail')

const DistinguishedName = TrimmedText(1_000).min(1)
const Filter = PlainText(2_000).min(1)

const DirectoryGroups = z.enum(['none', 'memberOf', 'search', 'nested'])

const fields = {
  urls: z
    .array(LdapUrl)
    .min(1)
    .max(10)
    .describe('Servers, tried in this order. Without TLS (ldap:// and startTls off) only on this computer.'),
  startTls: z.boolean().describe('Switch ldap:// connections to TLS before anything else is sent (StartTLS).'),
  caCertificates: TextUpTo(100_000)
    .nullable()
    .describe('PEM certificates of the only authorities to trust; null: those that the manager trusts otherwise.'),
  bindDn: DistinguishedName.nullable().describe('Account that searches; its password is the secret. Null: directBind.'),
  directBind: PlainText(1_000)
    .min(1)
    .nullable()
    .describe('Name to bind with as the person, with {username}: "uid={username},ou=people,dc=example,dc=org".'),
  base: DistinguishedName.describe('Entry below which people are searched.'),
  userFilter: Filter.describe('Filter that finds one person by {username}, RFC 4515.'),
  idAttribute: Attribute.describe('Attribute that never changes and is never given to another person.'),
  mailAttribute: Attribute,
  nameAttribute: Attribute,
  groups: DirectoryGroups.describe(
    'Where groups come from: an attribute memberOf, a search with groupFilter, or a search of Active Directory that includes nested groups.',
  ),
  groupBase: DistinguishedName.nullable().describe('Entry below which groups are searched; null: base.'),
  groupFilter: Filter.describe('Filter that finds the groups of a person by {dn} or {username}.'),
} as const

/** How an LDAP directory is asked. Names in braces are replaced, and escaped for where they stand. */
export const DirectorySettings = z.strictObject({
  ...fields,
  startTls: fields.startTls.default(false),
  caCertificates: fields.caCertificates.default(null),
  bindDn: fields.bindDn.default(null),
  directBind: fields.directBind.default(null),
  userFilter: fields.userFilter.default('(uid={username})'),
  idAttribute: fields.idAttribute.default('entryUUID'),
  mailAttribute: fields.mailAttribute.default('mail'),
  nameAttribute: fields.nameAttribute.default('cn'),
  groups: fields.groups.default('none'),
  groupBase: fields.groupBase.default(null),
  groupFilter: fields.groupFilter.default('(member={dn})'),
})
export type DirectorySettings = z.infer<typeof DirectorySettings>

/** Change of a directory. A key that is left out keeps its value. */
export const DirectoryChange = z.strictObject(fields).partial()
export type DirectoryChange = z.infer<typeof DirectoryChange>

/** Whether passwords would cross a network unencrypted with these settings. */
export function isPlainDirectory({ urls, startTls }: Pick<DirectorySettings, 'urls' | 'startTls'>): boolean {
  return !startTls && urls.some(text => /^ldap:/i.test(text) && !LOOPBACK.test(text))
}

/** Facts about a directory that answers. */
export const DirectoryCheck = z.object({
  kind: z.literal('ldap'),
  server: z.string().describe('The first server that answered.'),
  encryption: z.enum(['tls', 'starttls', 'none']),
  boundAs: z.string().nullable().describe('Null if only people bind (directBind).'),
  skipped: z.array(z.string()).describe('Servers before it that did not answer.'),
})

/** Entry of a person in the directory, as Berth reads it. */
export const DirectoryPerson = z
  .object({
    dn: z.string(),
    subject: z.string().describe('Identifier of the person at this provider.'),
    email: z.string().nullable(),
    name: z.string().nullable(),
    disabled: z.boolean().describe('Whether the directory says that the account is switched off.'),
    groups: z.array(z.string()).describe('Distinguished names, at most 2000.'),
    mapped: z.array(z.string()).describe('Groups of the mapping that the person is in.'),
  })
  .meta({ id: 'DirectoryPerson' })
export type DirectoryPerson = z.infer<typeof DirectoryPerson>
