import {
  type Announcement,
  AppError,
  type AuthOptions,
  because,
  SignInProviderSettings,
  type SystemSettings,
  type SystemSettingsChange,
  type UserId,
} from '#manager/contract'
import { type SecretBox } from '../secrets/secret-box.ts'
import { findDomain } from '../store/identity/domains.ts'
import { isFirstStart } from '../store/identity/logins.ts'
import { listSignInProviders, lockSignInProviders } from '../store/identity/sign-in-providers.ts'
import { countSuperadmins, lockSuperadmins } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { noSuchDomain } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { SMTP_PASSWORD_CONTEXT } from '../secrets/sealed.ts'
import { findDismissed, putDismissed } from '../store/operation/announcements.ts'
import { holdSystemSettings, readSystemSettings, writeSystemSettings } from '../store/operation/system-settings.ts'
import { announcementAt } from './announcement.ts'
import {
  applyChange,
  keepsPassword,
  noteChanges,
  parseChanges,
  parseSettings,
  refusal,
  toAuthOptions,
  toSystemSettings,
} from './rules.ts'

/** Connection data of the mail server. */
export interface MailServer {
  readonly host: string
  readonly port: number
  readonly security: SystemSettings['smtpSecurity']
  readonly from: string
  readonly login: { readonly user: string; readonly password: string } | null
}

/**
 * Settings that a superadmin changes at runtime. They are read from the database every time, which is rare, so that a change applies at
 * once at every manager.
 */
export interface Settings {
  read(): Promise<SystemSettings>
  /**
   * @param by the person who changes them, recorded with each setting
   * @throws AppError `bad_request` for settings that contradict each other, `domain_not_found`
   */
  change(by: { readonly email: string }, change: SystemSettingsChange): Promise<SystemSettings>
  authOptions(): Promise<Omit<AuthOptions, 'signInsEnded'>>
  announcement(userId: UserId): Promise<Announcement>
  /** @param id of the announcement; that of an ended one is harmless */
  dismissAnnouncement(userId: UserId, id: string): Promise<void>
  /** Undefined while mail is not set up. Holds the password: only for the mailer. */
  mailServer(): Promise<MailServer | undefined>
}

export interface SettingsDeps {
  readonly store: Store
  readonly box: SecretBox
  /** Whether an address for published apps is configured; without it, publishing cannot be switched on. */
  readonly hasAppsAddress?: boolean
  /** Fails unless clients of Backend.AI can be answered at this port. */
  readonly requireFreePort?: (port: number) => Promise<void>
  /** Fails unless a sign-in provider works now. Left out: sign-in cannot be limited to providers. */
  readonly requireWorkingProvider?: () => Promise<void>
}

export function createSettings({
  store,
  box,
  hasAppsAddress = false,
  requireFreePort = () => Promise.resolve(),
  requireWorkingProvider = () => Promise.reject(new AppError('bad_request', because('sign_in_provider_needed'))),
}: SettingsDeps): Settings {
  const { db } = store

  async function read(): Promise<SystemSettings> {
    const { system, smtpPassword, changes } = await readSystemSettings(db)
    return toSystemSettings(parseSettings(system), smtpPassword !== null, parseChanges(changes))
  }

  return {
    read,

    async change({ email: by }, change) {
      if (change.passwordSignIn === 'superadmins') await requireWorkingProvider()
      const { smtpPassword, backendAiPort } = change
      if (typeof backendAiPort === 'number' && backendAiPort !== (await read()).backendAiPort)
        await requireFreePort(backendAiPort)
      const sealed = typeof smtpPassword === 'string' ? box.seal(smtpPassword, SMTP_PASSWORD_CONTEXT) : smtpPassword
      await store.transaction(async trx => {
        if (change.passwordSignIn === 'superadmins') await requireWayIn(trx)
        await holdSystemSettings(trx)
        const kept = await readSystemSettings(trx)
        const before = parseSettings(kept.system)
        const next = applyChange(before, change)
        const contradiction = refusal(next)
        if (contradiction) throw new AppError('bad_request', contradiction)
        if (change.publishApps === true && !hasAppsAddress) {
          throw new AppError('bad_request', because('no_apps_address'))
        }
        if (change.signUpDomain !== undefined && !(await findDomain(trx, next.signUpDomain))) {
          throw noSuchDomain(next.signUpDomain)
        }
        const at = new Date(store.now()).toISOString()
        await writeSystemSettings(trx, {
          system: next,
          changes: noteChanges(parseChanges(kept.changes), { before, next, named: change, by, at }),
          smtpPassword: keepsPassword(before, next) ? sealed : (sealed ?? null),
        })
      })
      return read()
    },

    async authOptions() {
      const [settings, rows, firstStart] = await Promise.all([read(), listSignInProviders(db), isFirstStart(db)])
      const active = rows
        .map(row => ({ ...SignInProviderSettings.parse(row.settings), id: row.id }))
        .filter(row => row.active)
      return {
        ...toAuthOptions(settings),
        providers: active.map(({ id, name, kind }) => ({ id, name, kind })),
        firstStart,
      }
    },

    async announcement(userId) {
      const [settings, dismissed] = await Promise.all([read(), findDismissed(db, userId)])
      return announcementAt(settings, store.now(), dismissed)
    },

    dismissAnnouncement: (userId, id) => putDismissed(db, userId, id),

    async mailServer() {
      const { system, smtpPassword } = await readSystemSettings(db)
      const { smtpHost, smtpPort, smtpSecurity, smtpUser, smtpFrom } = parseSettings(system)
      if (smtpHost === null || smtpFrom === null) return undefined
      if (smtpUser !== null && smtpPassword === null) return undefined
      const login =
        smtpUser === null || smtpPassword === null
          ? null
          : { user: smtpUser, password: box.open(smtpPassword, SMTP_PASSWORD_CONTEXT) }
      return { host: smtpHost, port: smtpPort, security: smtpSecurity, from: smtpFrom, login }
    },
  }
}

/**
 * Call before users lose their passwords: ensures that a superadmin can sign in with one, and that an active provider exists. In a
 * transaction.
 */
async function requireWayIn(trx: Db): Promise<void> {
  await lockSuperadmins(trx)
  await lockSignInProviders(trx)
  const isActive = (await listSignInProviders(trx)).some(row => SignInProviderSettings.parse(row.settings).active)
  if (!isActive) throw new AppError('bad_request', because('sign_in_provider_needed'))
  if ((await countSuperadmins(trx)) === 0) {
    throw new AppError('last_superadmin', because('no_superadmin_password'))
  }
}
