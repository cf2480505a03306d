import { z } from 'zod'
import { SessionId } from '../ids.ts'
import { SecondFactor } from './accounts.ts'
import { LoginId } from './logins.ts'
import { TextUpTo, TrimmedText } from '../plain-text.ts'
import { TOKEN_SCOPES, TokenScope } from './scopes.ts'

/** Header by which a request with an access token names the tool that it is for: the audit log then has it, also if it only reads. */
export const TOOL_HEADER = 'x-berth-tool'

/** The longest name of an access token. */
export const TOKEN_NAME_LENGTH = 64
/** The longest life of an access token. */
export const MOST_TOKEN_DAYS = 366
/** The largest number of sessions in a budget. */
export const MOST_TOKEN_SESSIONS = 10_000
/** The largest number of GPU hours in a budget. */
export const MOST_TOKEN_GPU_HOURS = 1_000_000

/** Bounds of what sessions of one access token take; null: only the bounds of its owner. */
export const TokenBudget = z
  .object({
    sessions: z.int().min(1).max(MOST_TOKEN_SESSIONS).nullable().describe('Most waiting and running sessions at once.'),
    sessionSeconds: z
      .int()
      .min(60)
      .max(MOST_TOKEN_DAYS * 86_400)
      .nullable()
      .describe('Longest lifetime of a session, in seconds; also that of a request which names none.'),
    gpuHours: z
      .number()
      .min(0.01)
      .max(MOST_TOKEN_GPU_HOURS)
      .nullable()
      .describe('GPUs and GPU shares of its sessions, times hours, over its whole life.'),
  })
  .meta({ id: 'TokenBudget' })
export type TokenBudget = z.infer<typeof TokenBudget>

/** The one web app that a token may send requests to. */
export const TokenApp = z
  .strictObject({
    sessionId: SessionId.describe('A session that the owner of the token may use.'),
    app: TextUpTo(32).min(1).describe('Name of a web app, or a port such as `http-8000`.'),
  })
  .meta({ id: 'TokenApp' })
export type TokenApp = z.infer<typeof TokenApp>

/** A bearer token for a program, which may do a part of what its owner may. */
export const AccessToken = z
  .object({
    id: LoginId,
    name: z.string().describe('What it is for, in the words of its owner.'),
    scopes: z.array(TokenScope).describe('What it may do.'),
    budget: TokenBudget,
    sessions: z.int().describe('Its waiting and running sessions now.'),
    gpuHours: z.number().describe('GPU hours that its sessions took, and that its live ones may still take.'),
    app: TokenApp.extend({ sessionName: z.string().nullable().describe('Null: the session is gone.') })
      .nullable()
      .describe('The only app that it reaches; null: those of the sessions that it launched.'),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable().describe('To the minute; null: never.'),
    address: z.string().describe('Network address from which it was made.'),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'AccessToken' })
export type AccessToken = z.infer<typeof AccessToken>

export const NewAccessToken = AccessToken.extend({
  token: TextUpTo(200).describe('Shown only in this answer.'),
}).meta({ id: 'NewAccessToken' })
export type NewAccessToken = z.infer<typeof NewAccessToken>

/** Request for an access token. */
export const AccessTokenSpec = z
  .strictObject({
    name: TrimmedText(TOKEN_NAME_LENGTH).min(1),
    scopes: z.array(TokenScope).min(1).max(TOKEN_SCOPES.length),
    days: z.int().min(1).max(MOST_TOKEN_DAYS).default(30).describe('Days until it ends.'),
    budget: z.strictObject(TokenBudget.partial().shape).optional(),
    app: TokenApp.optional().describe('A web app of a session of yours; the scope is `apps` alone then.'),
    password: TextUpTo(1024).optional().describe('After `proof_required`: your password.'),
    totp: SecondFactor.optional().describe('After `totp_required`: the code from the authenticator app.'),
  })
  .refine(({ budget, scopes }) => budget === undefined || scopes.includes('launch'), {
    message: 'a budget needs the scope launch',
    path: ['budget'],
  })
  .refine(({ app, scopes }) => app === undefined || scopes.every(scope => scope === 'apps'), {
    message: 'a token for one app has the scope apps alone',
    path: ['app'],
  })
  .meta({ id: 'AccessTokenSpec' })
export type AccessTokenSpec = z.infer<typeof AccessTokenSpec>
