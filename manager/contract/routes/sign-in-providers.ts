import { z } from 'zod'
import { SecondFactor } from '../identity/accounts.ts'
import { UserId } from '../ids.ts'
import { PlainText, TextUpTo } from '../plain-text.ts'
import { DirectoryPerson } from '../identity/directories.ts'
import {
  FoundIdentity,
  OwnIdentity,
  SignInIdentity,
  SignInProvider,
  SignInProviderChange,
  SignInProviderCheck,
  SignInProviderId,
  SignInProviderSpec,
  SsoReturn,
} from '../identity/sign-in-providers.ts'
import { LoginReply } from './auth.ts'
import { type RouteSpec } from './route-spec.ts'

const SsoStarted = z.object({
  url: z.string().describe('Address of the provider to open in a browser.'),
  secret: z.string().describe('To finish with; for the client that began only.'),
  word: z
    .string()
    .describe('The page that asks before it hands a code to a loopback port shows it: show it to the person too.'),
  consoleUrl: z.string().describe('Address of the console to which the browser comes back.'),
  expiresAt: z.iso.datetime(),
})
const SsoProof = {
  secret: TextUpTo(200).min(16),
  code: z.string().trim().max(200, { abort: true }).min(16).describe('The code that the browser came back with.'),
} as const
const Password = TextUpTo(1024)
/** A person proves with these, once more, who they are, before their ways to sign in change. */
const OwnProof = {
  password: Password,
  totp: SecondFactor.optional().describe('After `totp_required`: the code from the authenticator app.'),
} as const

const Username = TextUpTo(256).min(1).describe('As the person writes it in the directory.')
const DirectoryProof = { provider: SignInProviderId, username: Username } as const
const DirectoryProved = z.object({
  secret: z.string().describe('To finish with.'),
  code: z.string().describe('To finish with.'),
  expiresAt: z.iso.datetime(),
})

/** Sign-in by OpenID Connect or at a directory: providers, the sign-in itself, and the links of accounts. */
export const SIGN_IN_PROVIDER_ROUTES = {
  startSso: {
    method: 'POST',
    path: '/api/v1/auth/sso/start',
    access: 'none',
    summary: 'Begin a sign-in at a provider. Open the address in a browser, then finish with the code that comes back.',
    body: z.strictObject({ provider: SignInProviderId, return: SsoReturn.default({ to: 'page' }) }),
    reply: SsoStarted,
  },
  proveAtDirectory: {
    method: 'POST',
    path: '/api/v1/auth/sso/directory',
    access: 'none',
    summary: 'Begin a sign-in at a directory with name and password. Finish with secret and code as at a provider.',
    body: z.strictObject({ ...DirectoryProof, password: Password }),
    reply: DirectoryProved,
  },
  finishSso: {
    method: 'POST',
    path: '/api/v1/auth/sso/finish',
    access: 'none',
    summary: 'Finish a sign-in at a provider. A refusal of the provider is reported here.',
    body: z.strictObject({
      ...SsoProof,
      totp: SecondFactor.optional().describe('After `totp_required`: the code from the authenticator app.'),
      kind: z.enum(['browser', 'token']).default('browser').describe('The same as for login.'),
      label: PlainText(100).optional().describe('Description that is kept with the sign-in, e.g. the host name.'),
    }),
    reply: LoginReply,
  },
  listOwnIdentities: {
    method: 'GET',
    path: '/api/v1/me/identities',
    access: 'user',
    summary: 'Your accounts at sign-in providers.',
    reply: z.object({ items: z.array(OwnIdentity) }),
  },
  startLinking: {
    method: 'POST',
    path: '/api/v1/me/identities/start',
    access: 'user',
    summary: 'Begin to link your account at a provider. Open the address in a browser, then finish with the code.',
    body: z.strictObject({ ...OwnProof, provider: SignInProviderId, return: SsoReturn.default({ to: 'page' }) }),
    reply: SsoStarted,
  },
  proveLinking: {
    method: 'POST',
    path: '/api/v1/me/identities/directory',
    access: 'user',
    summary: 'Begin to link your account in a directory, with its name and password. Finish with secret and code.',
    body: z.strictObject({ ...OwnProof, ...DirectoryProof, directoryPassword: Password }),
    reply: DirectoryProved,
  },
  checkLinking: {
    method: 'POST',
    path: '/api/v1/me/identities/check',
    access: 'user',
    summary: 'The account at the provider that `finish` links, to ask the person. Links nothing, and may be repeated.',
    body: z.strictObject(SsoProof),
    reply: FoundIdentity,
  },
  finishLinking: {
    method: 'POST',
    path: '/api/v1/me/identities/finish',
    access: 'user',
    summary: 'Link the account at the provider: you can sign in with it from now on.',
    body: z.strictObject(SsoProof),
    reply: OwnIdentity,
  },
  unlinkIdentity: {
    method: 'POST',
    path: '/api/v1/me/identities/unlink',
    access: 'user',
    summary: 'Unlink one of your accounts at a provider, with password. Your sign-ins stay.',
    body: z.strictObject({ ...OwnProof, ...OwnIdentity.pick({ issuer: true, subject: true }).shape }),
    status: 204,
    reply: z.void(),
  },
  listSignInProviders: {
    method: 'GET',
    path: '/api/v1/sign-in-providers',
    access: 'superadmin',
    summary: 'List the sign-in providers, and the callback address to register at those of OpenID Connect.',
    reply: z.object({
      items: z.array(SignInProvider),
      callbackUrl: z.string().describe('Redirect URI of this Berth, derived from publicUrl.'),
    }),
  },
  createSignInProvider: {
    method: 'POST',
    path: '/api/v1/sign-in-providers',
    access: 'superadmin',
    byPerson: true,
    idempotencyKey: true,
    summary: 'Add a provider.',
    body: SignInProviderSpec,
    // Five parts for each group of its mapping.
    jsonParts: 2_000,
    status: 201,
    reply: SignInProvider,
  },
  updateSignInProvider: {
    method: 'PATCH',
    path: '/api/v1/sign-in-providers/:id',
    access: 'superadmin',
    byPerson: true,
    summary: 'Change a provider. Another issuer or client needs its secret again.',
    params: z.object({ id: SignInProviderId }),
    body: SignInProviderChange,
    // Five parts for each group of its mapping.
    jsonParts: 2_000,
    reply: SignInProvider,
  },
  deleteSignInProvider: {
    method: 'DELETE',
    path: '/api/v1/sign-in-providers/:id',
    access: 'superadmin',
    byPerson: true,
    summary: 'Remove a provider. Accounts, and their links to the issuer, stay.',
    params: z.object({ id: SignInProviderId }),
    status: 204,
    reply: z.void(),
  },
  testSignInProvider: {
    method: 'POST',
    path: '/api/v1/sign-in-providers/:id/test',
    access: 'superadmin',
    summary: 'Read the discovery document of a provider, or bind to a directory, now. Nobody is signed in.',
    params: z.object({ id: SignInProviderId }),
    reply: SignInProviderCheck,
  },
  lookUpInDirectory: {
    method: 'POST',
    path: '/api/v1/sign-in-providers/:id/people',
    access: 'superadmin',
    summary: 'Look a person up in a directory with the account that searches: what Berth reads, and the groups.',
    params: z.object({ id: SignInProviderId }),
    body: z.strictObject({ username: Username }),
    reply: DirectoryPerson,
  },
  listUserIdentities: {
    method: 'GET',
    path: '/api/v1/users/:id/identities',
    access: 'superadmin',
    summary: 'Accounts at providers that are linked to a user.',
    params: z.object({ id: UserId }),
    reply: z.object({ items: z.array(SignInIdentity) }),
  },
  removeUserIdentities: {
    method: 'DELETE',
    path: '/api/v1/users/:id/identities',
    access: 'superadmin',
    byPerson: true,
    summary: 'Unlink a user from all providers. Projects and role that a mapping gave stay; sign-ins end.',
    params: z.object({ id: UserId }),
    reply: z.object({ removed: z.int().describe('How many.') }),
  },
} as const satisfies Record<string, RouteSpec>
