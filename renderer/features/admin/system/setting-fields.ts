import {
  AGENT_UPDATES,
  IMAGE_TRANSFERS,
  PASSWORD_SIGN_IN,
  SESSION_IMAGES,
  SIGN_UP,
  SMTP_SECURITY,
  ANNOUNCEMENT_LEVELS,
  type StoredSettings,
} from '#manager/contract'

/** Kind of input for a setting. */
export type SettingField =
  | { readonly kind: 'text' | 'lines' | 'switch' | 'moment' | 'time' }
  | { readonly kind: 'number'; readonly min: number; readonly max: number; readonly empty?: 'forEver' | 'notSet' }
  | { readonly kind: 'choice'; readonly values: readonly string[] }

export type SettingKey = keyof StoredSettings

/** The settings by subject, in the order of the page. The manager checks their ranges as well. */
export const SETTING_PARTS = {
  announcement: ['announcement', 'announcementLevel', 'announcementFrom', 'announcementUntil'],
  signUp: [
    'allowSignUp',
    'signUpDomain',
    'signUpEmailDomains',
    'signUpNote',
    'requireEmailVerification',
    'unconfirmedDays',
    'termsUrl',
    'privacyUrl',
  ],
  signIn: ['passwordSignIn', 'idleSignOutMinutes', 'browserIdleHours', 'browserMaxDays', 'tokenDays', 'mappingDays'],
  mail: ['publicUrl', 'smtpHost', 'smtpPort', 'smtpSecurity', 'smtpUser', 'smtpFrom'],
  apps: ['publishApps', 'publishMaxHours', 'sessionImages'],
  webhooks: ['webhookHosts', 'webhookHttp'],
  backendAi: ['backendAiPort'],
  hosts: ['agentUpdates', 'imageTransfers'],
  retention: ['sessionDays', 'auditDays'],
  backup: ['backupAt', 'backupTimeZone', 'backupKeep'],
} as const satisfies Readonly<Record<string, readonly SettingKey[]>>
export type SettingPart = keyof typeof SETTING_PARTS
export const SETTING_PART_NAMES = Object.keys(SETTING_PARTS) as readonly SettingPart[]

export const SETTING_FIELDS: Readonly<Record<SettingKey, SettingField>> = {
  allowSignUp: { kind: 'choice', values: SIGN_UP },
  signUpDomain: { kind: 'text' },
  signUpEmailDomains: { kind: 'text' },
  signUpNote: { kind: 'lines' },
  requireEmailVerification: { kind: 'switch' },
  mappingDays: { kind: 'number', min: 1, max: 365 },
  unconfirmedDays: { kind: 'number', min: 1, max: 365 },
  termsUrl: { kind: 'text' },
  privacyUrl: { kind: 'text' },
  passwordSignIn: { kind: 'choice', values: PASSWORD_SIGN_IN },
  idleSignOutMinutes: { kind: 'number', min: 5, max: 1_440, empty: 'notSet' },
  browserIdleHours: { kind: 'number', min: 1, max: 720 },
  browserMaxDays: { kind: 'number', min: 1, max: 90 },
  tokenDays: { kind: 'number', min: 1, max: 365 },
  sessionDays: { kind: 'number', min: 7, max: 36_500, empty: 'forEver' },
  auditDays: { kind: 'number', min: 30, max: 36_500, empty: 'forEver' },
  backupAt: { kind: 'time' },
  backupTimeZone: { kind: 'text' },
  backupKeep: { kind: 'number', min: 1, max: 1_000 },
  sessionImages: { kind: 'choice', values: SESSION_IMAGES },
  agentUpdates: { kind: 'choice', values: AGENT_UPDATES },
  imageTransfers: { kind: 'choice', values: IMAGE_TRANSFERS },
  publishApps: { kind: 'switch' },
  publishMaxHours: { kind: 'number', min: 1, max: 8_760 },
  webhookHosts: { kind: 'text' },
  webhookHttp: { kind: 'switch' },
  backendAiPort: { kind: 'number', min: 1_024, max: 65_535, empty: 'notSet' },
  publicUrl: { kind: 'text' },
  announcement: { kind: 'lines' },
  announcementLevel: { kind: 'choice', values: ANNOUNCEMENT_LEVELS },
  announcementFrom: { kind: 'moment' },
  announcementUntil: { kind: 'moment' },
  smtpHost: { kind: 'text' },
  smtpPort: { kind: 'number', min: 1, max: 65_535 },
  smtpSecurity: { kind: 'choice', values: SMTP_SECURITY },
  smtpUser: { kind: 'text' },
  smtpFrom: { kind: 'text' },
}
