import { z } from 'zod'
import { ANNOUNCEMENT_LEVELS } from './announcement.ts'
import { TimeOfDay } from './backups.ts'
import { DomainName } from '../identity/domains.ts'
import { DateTime, MailAddress, PlainLines, PlainText, TextUpTo, TrimmedLines, WebAddress } from '../plain-text.ts'
import { MailDomain, SignInProviderKind } from '../identity/sign-in-providers.ts'
import { TimeZone } from './time-zone.ts'
import { WebhookHosts } from './webhooks.ts'

/** Rule who may sign up. `request`: an admin decides about each person; invitations work as well. */
export const SIGN_UP = ['off', 'invitation', 'request', 'open'] as const
/** Largest value of `browserMaxDays`: no browser keeps a cookie for longer. */
export const MAX_BROWSER_DAYS = 90
/** Users who may sign in with a password: all, or superadmins only. */
export const PASSWORD_SIGN_IN = ['everyone', 'superadmins'] as const
/**
 * Rule who may make an image of their own session: superadmins only (`off`), others once a superadmin accepts (`ask`), or everybody
 * (`allow`).
 */
export const SESSION_IMAGES = ['off', 'ask', 'allow'] as const
/** Rule when hosts that the line has installed get the program of the manager: by themselves, or when an administrator asks. */
export const AGENT_UPDATES = ['automatic', 'manual'] as const
/**
 * Images that hosts take from each other when a session needs them: none, those that no registry offers (`local`), or all, before a registry is
 * asked.
 */
export const IMAGE_TRANSFERS = ['never', 'local', 'always'] as const
export const SMTP_SECURITY = ['tls', 'starttls', 'none'] as const

/** Domains of e-mail addresses: `example.org, example.com`. */
const MailDomains = TextUpTo(1000)
  .overwrite(text =>
    text
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean)
      .join(', '),
  )
  .refine(
    text => text !== '' && text.split(', ').every(domain => MailDomain.safeParse(domain).success),
    'must be domains such as example.org, separated by commas',
  )
const HttpUrl = WebAddress(500, {
  protocol: /^https?$/,
  error: 'must be an address such as https://berth.example.org',
})
  .refine(text => !/[?#]|\/\/[^/]*@/.test(text), 'must not hold a user, a query or a fragment')
  .overwrite(text => text.replace(/\/+$/, ''))

/** Host name or address of the mail server, as SMTP needs it; never a URL. */
const HostName = TextUpTo(253).regex(/^([A-Za-z0-9.-]+|\[?[0-9A-Fa-f:.]+\]?)$/, 'must be a host name or an address')

/** ISO 8601 with any offset; kept in UTC. */
const Moment = DateTime({ offset: true })
  .refine(text => /^2(?!000)\d{3}/.test(text), 'must be a time in the years 2001 to 2999')
  .overwrite(text => (Number.isNaN(Date.parse(text)) ? text : new Date(text).toISOString()))

/** Settings that a superadmin changes at runtime, for all managers on this database. Every key has a default. */
const fields = {
  allowSignUp: z
    .enum(SIGN_UP)
    .describe(
      'Who may make an account: nobody, people with an invitation, people whose request an admin accepts, or anybody.',
    ),
  signUpDomain: DomainName.describe('Domain of people who sign up without an invitation.'),
  signUpEmailDomains: MailDomains.nullable().describe(
    'People without an invitation need an address of these domains, separated by commas; null: any address.',
  ),
  signUpNote: TrimmedLines(500)
    .min(1)
    .nullable()
    .describe('A sentence above the form of a request for an account, such as who gets one.'),
  requireEmailVerification: z
    .boolean()
    .describe('New users must open a link sent to their address before they can sign in.'),
  passwordSignIn: z
    .enum(PASSWORD_SIGN_IN)
    .describe('Who may sign in with a password. Superadmins always may, so that a broken provider locks nobody out.'),
  browserIdleHours: z
    .number()
    .int()
    .min(1)
    .max(720)
    .describe('A browser is signed out after being unused for this many hours.'),
  idleSignOutMinutes: z
    .number()
    .int()
    .min(5)
    .max(1_440)
    .nullable()
    .describe(
      'The console signs a browser out after so many minutes in which nobody uses it, with a warning; null: it does not.',
    ),
  browserMaxDays: z
    .number()
    .int()
    .min(1)
    .max(MAX_BROWSER_DAYS)
    .describe('A browser is signed out after this many days.'),
  tokenDays: z.number().int().min(1).max(365).describe('Sign-ins of the CLI and the desktop app last this many days.'),
  mappingDays: z
    .number()
    .int()
    .min(1)
    .max(365)
    .describe(
      'Projects and roles by groups of a sign-in provider end so many days after the last sign-in there, until the next one.',
    ),
  unconfirmedDays: z
    .number()
    .int()
    .min(1)
    .max(365)
    .describe('Accounts whose address was not confirmed are removed after this many days; the address is free again.'),
  sessionDays: z
    .number()
    .int()
    .min(7)
    .max(36_500)
    .nullable()
    .describe(
      'Sessions are deleted this many days after their end, with events, figures and logs; null keeps them for ever.',
    ),
  auditDays: z
    .number()
    .int()
    .min(30)
    .max(36_500)
    .nullable()
    .describe('Entries of the audit log are deleted after this many days; null keeps them for ever.'),
  backupAt: TimeOfDay.nullable().describe('A backup is made every day at this time; null: only when somebody asks.'),
  backupTimeZone: TimeZone.describe('Time zone of backupAt.'),
  backupKeep: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .describe('So many backups are kept; older ones are deleted once a new one is complete.'),
  sessionImages: z
    .enum(SESSION_IMAGES)
    .describe('Whether users make images of their sessions: no, once a superadmin accepts, or at once.'),
  agentUpdates: z
    .enum(AGENT_UPDATES)
    .describe(
      'Whether hosts that were added by a line get the version of the manager by themselves, while nobody is connected to their sessions.',
    ),
  imageTransfers: z
    .enum(IMAGE_TRANSFERS)
    .describe(
      'Whether a host takes the image of a session from another host: never, if no registry offers the image, or always where another host has it.',
    ),
  publishApps: z
    .boolean()
    .describe('Users may open web apps of their sessions to everybody who has a link. Needs console.appsAddress.'),
  publishMaxHours: z
    .number()
    .int()
    .min(1)
    .max(8_760)
    .describe('A link to a published app ends after at most this many hours.'),
  webhookHosts: WebhookHosts.nullable().describe(
    'Hosts to which webhooks may go although their address is private, separated by commas; null: none.',
  ),
  webhookHttp: z.boolean().describe('Webhooks may go to addresses with http, which others on the way can read.'),
  backendAiPort: z
    .number()
    .int()
    .min(1_024)
    .max(65_535)
    .nullable()
    .describe(
      'Port at which every manager answers clients of Backend.AI, over https or from its own computer only; null: none. Their signatures do not cover what a request contains.',
    ),
  publicUrl: HttpUrl.nullable().describe('Address of the console in mailed links.'),
  termsUrl: HttpUrl.nullable().describe('Terms of service to agree to when signing up.'),
  privacyUrl: HttpUrl.nullable().describe('Privacy policy to agree to when signing up.'),
  announcement: PlainLines(4000)
    .min(1)
    .nullable()
    .describe('Markdown that every signed-in person sees on the summary page; HTML in it is shown as text.'),
  announcementLevel: z.enum(ANNOUNCEMENT_LEVELS).describe('How urgent the announcement is.'),
  announcementFrom: Moment.nullable().describe('The announcement is shown from this time on; null: at once.'),
  announcementUntil: Moment.nullable().describe(
    'The announcement is shown until this time; null: until it is cleared.',
  ),
  smtpHost: HostName.nullable().describe('Mail server; without it no mail is sent.'),
  smtpPort: z.number().int().min(1).max(65_535),
  smtpSecurity: z
    .enum(SMTP_SECURITY)
    .describe('TLS from the first byte, STARTTLS (required), or none. Certificates are always verified.'),
  smtpUser: PlainText(254).min(1).nullable(),
  smtpFrom: MailAddress.nullable().describe('Sender address of mails.'),
} as const

export const SYSTEM_SETTINGS_DEFAULTS = {
  allowSignUp: 'off',
  signUpDomain: 'default',
  signUpEmailDomains: null,
  signUpNote: null,
  requireEmailVerification: true,
  passwordSignIn: 'everyone',
  browserIdleHours: 12,
  idleSignOutMinutes: null,
  browserMaxDays: 7,
  tokenDays: 30,
  mappingDays: 30,
  unconfirmedDays: 7,
  sessionDays: null,
  auditDays: null,
  backupAt: null,
  backupTimeZone: 'UTC',
  backupKeep: 7,
  sessionImages: 'ask',
  agentUpdates: 'automatic',
  imageTransfers: 'never',
  publishApps: false,
  publishMaxHours: 168,
  webhookHosts: null,
  webhookHttp: false,
  backendAiPort: null,
  publicUrl: null,
  termsUrl: null,
  privacyUrl: null,
  announcement: null,
  announcementLevel: 'info',
  announcementFrom: null,
  announcementUntil: null,
  smtpHost: null,
  smtpPort: 587,
  smtpSecurity: 'starttls',
  smtpUser: null,
  smtpFrom: null,
} as const satisfies StoredSettings

/** The settings that are stored unencrypted: all except secrets. */
export const StoredSettings = z.object(fields)
export type StoredSettings = z.infer<typeof StoredSettings>

/** The settings as a superadmin sees them; the password of the mail server is never shown. */
export const SystemSettings = StoredSettings.extend({
  changes: z
    .record(z.string(), z.object({ by: z.string(), at: z.iso.datetime() }))
    .describe(
      'By setting: the e-mail address of the last who changed it, and when. Settings never changed are left out.',
    ),
  smtpPasswordSet: z.boolean(),
  mailReady: z.boolean().describe('Mail server, sender and public address are set: links are mailed.'),
}).meta({ id: 'SystemSettings' })
export type SystemSettings = z.infer<typeof SystemSettings>

/** Change of the settings. A key that is left out keeps its value; null clears it. */
export const SystemSettingsChange = z
  .strictObject({ ...fields, smtpPassword: TextUpTo(1024).min(1).nullable() })
  .partial()
  .meta({ id: 'SystemSettingsChange' })
export type SystemSettingsChange = z.infer<typeof SystemSettingsChange>

/** Options that the sign-in page offers. Public. */
export const AuthOptions = z
  .object({
    signUp: z.enum(SIGN_UP),
    verification: z
      .enum(['none', 'mail', 'admin'])
      .describe('How a sign-up is confirmed: not at all, by a mailed link, or by a link from an admin.'),
    passwordReset: z.enum(['mail', 'admin']).describe('How people get a link for a forgotten password.'),
    passwordSignIn: z.enum(PASSWORD_SIGN_IN).describe('Who may sign in with a password.'),
    providers: z
      .array(z.object({ id: z.string(), name: z.string(), kind: SignInProviderKind }))
      .describe('Sign-in providers, by name. A directory (ldap) takes name and password here.'),
    signUpEmailDomains: z.string().nullable().describe('Domains whose addresses may sign up; null: all.'),
    signUpNote: z.string().nullable().describe('A sentence above the form of a request for an account.'),
    idleSignOutMinutes: z.int().nullable().describe('Minutes without use after which the console signs a browser out.'),
    termsUrl: z.string().nullable(),
    privacyUrl: z.string().nullable(),
    firstStart: z
      .boolean()
      .describe(
        'There is only one account and nobody has signed in with it, so the page may say where its password is.',
      ),
    signInsEnded: z
      .boolean()
      .describe(
        'Berth was started again, and the sign-ins of browsers ended, because another program could have taken them.',
      ),
  })
  .meta({ id: 'AuthOptions' })
export type AuthOptions = z.infer<typeof AuthOptions>
