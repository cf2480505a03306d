import { z } from 'zod'
import { SecondFactor } from '../identity/accounts.ts'
import { Login, LoginId } from '../identity/logins.ts'
import { PlainText, TextUpTo, TrimmedText } from '../plain-text.ts'
import { Me } from '../identity/users.ts'
import { ConsoleVisit } from '../identity/visits.ts'
import { type RouteSpec } from './route-spec.ts'

/** Reply of every sign-in. */
export const LoginReply = Me.extend({
  token: z.string().nullable().describe('Bearer token; only for kind "token".'),
  originSecret: z
    .string()
    .nullable()
    .describe(
      'Only for kind "browser", shown only in this answer: send it together with the cookie as the header x-berth-origin-secret.',
    ),
})

/** Signing in and out, and the caller's own account. */
export const AUTH_ROUTES = {
  login: {
    method: 'POST',
    path: '/api/v1/auth/login',
    access: 'none',
    summary: 'Sign in with e-mail address and password.',
    body: z.strictObject({
      email: TrimmedText(254).min(1),
      password: TextUpTo(1024),
      totp: SecondFactor.optional().describe('After `totp_required`: the code from the authenticator app.'),
      newPassword: TextUpTo(1024)
        .optional()
        .describe('After `password_change_required`: the password from now on. Every other sign-in ends.'),
      kind: z.enum(['browser', 'token']).default('browser').describe('A cookie for browsers, or a bearer token.'),
      label: PlainText(100).optional().describe('Description that is kept with the sign-in, e.g. the host name.'),
    }),
    reply: LoginReply,
  },
  loginWithTicket: {
    method: 'POST',
    path: '/api/v1/auth/ticket',
    access: 'none',
    summary: 'Sign in with the one-time link that `berth up` opens.',
    body: z.strictObject({
      ticket: TextUpTo(200).min(16),
      kind: z
        .enum(['browser', 'token'])
        .default('browser')
        .describe('The same as for login; the desktop app asks for a token.'),
    }),
    reply: LoginReply,
  },
  loginWithKeypair: {
    method: 'POST',
    path: '/api/v1/auth/keypair',
    access: 'none',
    summary: 'Sign in with an access key and its secret key. The sign-in ends with the keypair.',
    body: z.strictObject({
      accessKey: TextUpTo(64).min(1),
      secretKey: TextUpTo(200),
      totp: SecondFactor.optional().describe('After `totp_required`: the code from the authenticator app.'),
      kind: z.enum(['browser', 'token']).default('browser').describe('The same as for login.'),
      label: PlainText(100).optional().describe('Description that is kept with the sign-in, e.g. the host name.'),
    }),
    reply: LoginReply,
  },
  listLogins: {
    method: 'GET',
    path: '/api/v1/me/logins',
    access: 'user',
    summary: 'Your own sign-ins that are valid, the last used first.',
    reply: z.object({ items: z.array(Login) }),
  },
  endLogin: {
    method: 'DELETE',
    path: '/api/v1/me/logins/:id',
    access: 'user',
    summary:
      'End one of your sign-ins. Its event streams, terminals and tunnels close at once. A keypair ends only sign-ins that were made with it.',
    params: z.object({ id: LoginId }),
    status: 204,
    reply: z.void(),
  },
  endOtherLogins: {
    method: 'DELETE',
    path: '/api/v1/me/logins',
    access: 'user',
    summary: 'End all your sign-ins except the one of this request. A keypair ends only those that were made with it.',
    reply: z.object({ ended: z.int().describe('How many.') }),
  },
  logout: {
    method: 'POST',
    path: '/api/v1/auth/logout',
    access: 'user',
    summary: 'End this sign-in and every grant made with it.',
    status: 204,
    reply: z.void(),
  },
  me: {
    method: 'GET',
    path: '/api/v1/me',
    access: 'user',
    summary: 'The caller: the user who is signed in.',
    reply: Me,
  },
  recordVisit: {
    method: 'POST',
    path: '/api/v1/me/visit',
    access: 'user',
    summary:
      'Say that you look at the console now, and learn when you last did. After 30 minutes without a call a new visit begins.',
    reply: ConsoleVisit,
  },
  changePassword: {
    method: 'POST',
    path: '/api/v1/me/password',
    access: 'user',
    summary: 'Change your own password. Every other sign-in ends.',
    body: z.strictObject({ oldPassword: TextUpTo(1024), newPassword: TextUpTo(1024) }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
