import { z } from 'zod'
import { DirectoryChange, DirectoryCheck, DirectorySettings } from './directories.ts'
import { DomainName } from './domains.ts'
import { TextOf, TextUpTo, TrimmedText, WebAddress } from '../plain-text.ts'
import { Role } from './users.ts'

/** Id of a sign-in provider; chosen by the superadmin, part of addresses. */
export const SignInProviderId = TextOf(
  32,
  /^[a-z0-9][a-z0-9-]{0,31}$/,
  'must be 1 to 32 small letters, digits or dashes',
)

/** Issuer identifier (OpenID Connect Discovery 1.0, section 3). Plain http is accepted only on this computer. */
const Issuer = WebAddress(500, {
  protocol: /^https?$/,
  error: 'must be an address such as https://id.example.org/realms/lab',
})
  .refine(text => !/[?#]|\/\/[^/]*@/.test(text), 'must not hold a user, a query or a fragment')
  .refine(
    text => !/^http:/i.test(text) || /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|\/|$)/i.test(text),
    'must start with https://',
  )

/** Name that Berth gives to a directory, in the place of an issuer. It is new for each provider, so no later one inherits its accounts. */
const DirectoryIssuer = TextOf(100, /^ldap:[a-z0-9-]{1,32}:[0-9a-f]{16}$/)

export const SignInProviderKind = z.enum(['oidc', 'ldap'])
export type SignInProviderKind = z.infer<typeof SignInProviderKind>

const ClaimName = TrimmedText(200).min(1)
export const MailDomain = z
  .string()
  .trim()
  .toLowerCase()
  .max(253, { abort: true })
  .regex(/^([a-z0-9-]+\.)*[a-z0-9-]+$/, 'must be the part of an address after the @, such as example.org')

/** Projects and role that members of one group of the provider get. */
export const GroupMapping = z.strictObject({
  group: TrimmedText(500).min(1).describe('Value of the groups claim.'),
  projects: z.array(TrimmedText(64).min(1)).max(100).default([]).describe("Projects of the provider's domain."),
  role: Role.nullable().default(null).describe('Role that members get; null gives none.'),
})
export type GroupMapping = z.infer<typeof GroupMapping>

const clientId = TrimmedText(500)

const fields = {
  name: TrimmedText(64).min(1).describe('Name on the button of the sign-in page.'),
  active: z.boolean().describe('Whether the sign-in page offers it.'),
  issuer: Issuer.describe('Issuer identifier; the rest is read from its discovery document.'),
  clientId: clientId.min(1),
  scopes: z
    .array(TextOf(200, /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a scope'))
    .max(20)
    .describe('Scopes besides openid.'),
  emailClaim: ClaimName.describe('Claim with the e-mail address. Dots name inner fields.'),
  trustEmail: z
    .boolean()
    .describe('Accept the address although the provider does not say that it is verified (email_verified).'),
  emailDomains: z
    .array(MailDomain)
    .max(100)
    .describe('Only addresses of these domains get or link accounts; empty: all.'),
  createAccounts: z.boolean().describe('Make an account at the first sign-in of a person without one.'),
  domain: DomainName.describe('Domain of accounts that are made. The mapping counts for accounts of this domain only.'),
  linkByEmail: z
    .boolean()
    .describe('Link an existing account with the same verified address. Needs emailDomains. Never links superadmins.'),
  trustSecondFactor: z
    .boolean()
    .describe('Do not ask for the second factor of Berth if the provider reports several factors (amr has mfa).'),
  groupsClaim: ClaimName.nullable().describe('Claim with the groups of the person. Dots name inner fields.'),
  mapping: z.array(GroupMapping).max(200).describe('What groups of the provider give.'),
} as const

const stored = {
  kind: SignInProviderKind.describe('OpenID Connect, or an LDAP directory.'),
  issuer: z.union([Issuer, DirectoryIssuer]).describe('Issuer identifier, or the name that Berth gave a directory.'),
  clientId: clientId.describe('Empty for a directory.'),
  directory: DirectorySettings.nullable().describe('How a directory is asked; null for OpenID Connect.'),
} as const

/** The settings of a provider that are stored unencrypted. */
export const SignInProviderSettings = z.object({
  ...fields,
  ...stored,
  kind: stored.kind.default('oidc'),
  directory: stored.directory.default(null),
  active: fields.active.default(true),
  scopes: fields.scopes.default(['email', 'profile']),
  emailClaim: fields.emailClaim.default('email'),
  trustEmail: fields.trustEmail.default(false),
  emailDomains: fields.emailDomains.default([]),
  createAccounts: fields.createAccounts.default(false),
  domain: fields.domain.default('default'),
  linkByEmail: fields.linkByEmail.default(false),
  trustSecondFactor: fields.trustSecondFactor.default(false),
  groupsClaim: fields.groupsClaim.default(null),
  mapping: fields.mapping.default([]),
})
export type SignInProviderSettings = z.infer<typeof SignInProviderSettings>

const ClientSecret = TextUpTo(2000).min(1)

export const SignInProvider = z
  .object({
    ...fields,
    ...stored,
    id: SignInProviderId,
    clientSecretSet: z.boolean().describe('The secret itself is never shown.'),
    createdAt: z.iso.datetime(),
    accounts: z.int().describe('How many accounts are linked to its issuer.'),
  })
  .meta({ id: 'SignInProvider' })
export type SignInProvider = z.infer<typeof SignInProvider>

export const SignInProviderSpec = z
  .strictObject({
    id: SignInProviderId,
    ...SignInProviderSettings.shape,
    issuer: fields.issuer.optional().describe('Of OpenID Connect only.'),
    clientId: fields.clientId.optional().describe('Of OpenID Connect only.'),
    clientSecret: ClientSecret.nullable()
      .default(null)
      .describe('Client secret, null for a public client; or the password of bindDn.'),
  })
  .meta({ id: 'SignInProviderSpec' })
export type SignInProviderSpec = z.infer<typeof SignInProviderSpec>

/** Change of a provider. A key that is left out keeps its value. */
export const SignInProviderChange = z
  .strictObject({ ...fields, directory: DirectoryChange, clientSecret: ClientSecret.nullable() })
  .partial()
  .meta({ id: 'SignInProviderChange' })
export type SignInProviderChange = z.infer<typeof SignInProviderChange>

/** Facts from a provider's discovery document. */
const IssuerCheck = z.object({
  kind: z.literal('oidc'),
  issuer: z.string(),
  authorizationEndpoint: z.string(),
  tokenEndpoint: z.string(),
  pkce: z.boolean().nullable().describe('Whether it names PKCE with S256; null if it does not say.'),
  clockDifferenceSeconds: z
    .int()
    .nullable()
    .describe("The provider's clock minus this manager's; null if its answer has no date."),
})

export const SignInProviderCheck = z
  .discriminatedUnion('kind', [IssuerCheck, DirectoryCheck])
  .meta({ id: 'SignInProviderCheck' })
export type SignInProviderCheck = z.infer<typeof SignInProviderCheck>

/** An account at a provider that signs in to an account of Berth. */
export const SignInIdentity = z
  .object({
    issuer: TextUpTo(500),
    subject: TextUpTo(1_000).describe('Identifier of the person at the issuer; never changes there.'),
    email: z.string().describe('Address that the provider named last.'),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime(),
  })
  .meta({ id: 'SignInIdentity' })
export type SignInIdentity = z.infer<typeof SignInIdentity>

/** An account at a provider, as its owner sees it. */
export const OwnIdentity = SignInIdentity.extend({
  provider: z.string().nullable().describe('Name of the provider; null if it was removed from Berth.'),
}).meta({ id: 'OwnIdentity' })
export type OwnIdentity = z.infer<typeof OwnIdentity>

/** An account at a provider that is about to be linked. */
export const FoundIdentity = SignInIdentity.pick({ issuer: true, subject: true })
  .extend({
    email: z.string().nullable().describe('As the provider names it; null if it names none.'),
    provider: z.string().describe('Name of the provider.'),
  })
  .meta({ id: 'FoundIdentity' })
export type FoundIdentity = z.infer<typeof FoundIdentity>

const ServerPlace = TextOf(300, /^[a-z0-9._:[\]-]{1,300}$/).describe(
  'Host of the server as this program reaches it, as in the Host field. Set it: what comes back then counts there only, and the program finishes with HMAC-SHA256 (hex) of "berth sign-in code", a line feed and this text, under the code as key.',
)

/** Way in which a sign-in returns to the client that began it. */
export const SsoReturn = z
  .discriminatedUnion('to', [
    z.strictObject({ to: z.literal('page') }).describe('To the sign-in page of the console, in the same browser.'),
    z
      .strictObject({ to: z.literal('code'), at: ServerPlace.optional() })
      .describe('A page of the console shows a code to enter in the client.'),
    z
      .strictObject({
        to: z.literal('loopback'),
        port: z.number().int().min(1024).max(65_535),
        at: ServerPlace.optional(),
      })
      .describe('To http://127.0.0.1:PORT on the computer of the browser, once the person has agreed on a page.'),
  ])
  .describe('The code is of use only together with the secret.')
export type SsoReturn = z.infer<typeof SsoReturn>
