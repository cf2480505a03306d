import { defined } from '#base/defined'
import {
  type AuthOptions,
  because,
  type Because,
  StoredSettings,
  SYSTEM_SETTINGS_DEFAULTS,
  SystemSettings,
  type SystemSettingsChange,
} from '#manager/contract'

/** Parses stored settings key by key: only a key that an older or newer version wrote differently gets its default. */
export function parseSettings(kept: unknown): StoredSettings {
  const given = typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {}
  const entries = Object.entries(StoredSettings.shape).flatMap(([key, schema]) => {
    const parsed = schema.safeParse(given[key])
    return parsed.success ? [[key, parsed.data] as const] : []
  })
  return { ...SYSTEM_SETTINGS_DEFAULTS, ...(Object.fromEntries(entries) as Partial<StoredSettings>) }
}

/** Applies a change. A key that is left out keeps its value. */
export function applyChange(
  settings: StoredSettings,
  { smtpPassword: _, ...change }: SystemSettingsChange,
): StoredSettings {
  return { ...settings, ...defined(change) }
}

/** The settings that contradict each other; undefined if none do. */
export function refusal(settings: StoredSettings): Because | undefined {
  const { smtpSecurity, smtpUser, smtpHost, announcementFrom, announcementUntil, allowSignUp, passwordSignIn } =
    settings
  if (passwordSignIn === 'superadmins' && allowSignUp !== 'off') return because('passwords_off_with_sign_up')
  if (announcementFrom !== null && announcementUntil !== null && announcementUntil <= announcementFrom) {
    return because('announcement_ends_first')
  }
  if (smtpSecurity === 'none' && smtpUser !== null && smtpHost !== null && !isLoopbackName(smtpHost)) {
    return because('smtp_password_in_clear', { host: smtpHost })
  }
  return undefined
}

/**
 * Whether a change keeps the stored password. The password was given for one mail server: an admin who changes the server must enter the
 * password again, so that it is not sent to another server.
 */
export function keepsPassword(
  before: Pick<StoredSettings, 'smtpHost'>,
  next: Pick<StoredSettings, 'smtpHost'>,
): boolean {
  return before.smtpHost === null || before.smtpHost === next.smtpHost
}

/** Whether links can be mailed: all required settings are set. */
export function isMailReady(settings: StoredSettings, smtpPasswordSet: boolean): boolean {
  const { smtpHost, smtpFrom, publicUrl, smtpUser } = settings
  return smtpHost !== null && smtpFrom !== null && publicUrl !== null && (smtpUser === null || smtpPasswordSet)
}

export function toSystemSettings(
  settings: StoredSettings,
  smtpPasswordSet: boolean,
  changes: SettingChanges = {},
): SystemSettings {
  return { ...settings, changes, smtpPasswordSet, mailReady: isMailReady(settings, smtpPasswordSet) }
}

/** Author and time of the last change of each setting. */
export type SettingChanges = SystemSettings['changes']

/** Parses the stored changes; any other value counts as no changes. */
export function parseChanges(kept: unknown): SettingChanges {
  const parsed = SystemSettings.shape.changes.safeParse(kept)
  return parsed.success ? parsed.data : {}
}

/** Records the settings that differ between two states, and the password of the mail server if the change contains it. */
export function noteChanges(
  changes: SettingChanges,
  {
    before,
    next,
    named,
    ...change
  }: {
    readonly before: StoredSettings
    readonly next: StoredSettings
    readonly named: SystemSettingsChange
    readonly by: string
    readonly at: string
  },
): SettingChanges {
  const keys = Object.keys(next) as (keyof StoredSettings)[]
  const changed: string[] = keys.filter(key => before[key] !== next[key])
  if (named.smtpPassword !== undefined) changed.push('smtpPassword')
  return { ...changes, ...Object.fromEntries(changed.map(key => [key, change])) }
}

export function toAuthOptions(
  settings: SystemSettings,
): Omit<AuthOptions, 'firstStart' | 'signInsEnded' | 'providers'> {
  const by = settings.mailReady ? 'mail' : 'admin'
  return {
    signUp: settings.allowSignUp,
    verification: settings.requireEmailVerification ? by : 'none',
    passwordReset: by,
    passwordSignIn: settings.passwordSignIn,
    signUpEmailDomains: settings.signUpEmailDomains,
    signUpNote: settings.signUpNote,
    idleSignOutMinutes: settings.idleSignOutMinutes,
    termsUrl: settings.termsUrl,
    privacyUrl: settings.privacyUrl,
  }
}

export function isLoopbackName(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host)
}

/**
 * Whether a setting decides how people access their accounts: the address and mail server of links for new passwords, who signs in with a
 * password, and whether weaker signatures are accepted. Requests signed with a keypair must not change it.
 */
export const isWayIn = (key: string): boolean => /^(publicUrl|passwordSignIn|backendAiPort|smtp[A-Z].*)$/.test(key)
