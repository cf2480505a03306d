import { type EventPublisher } from '../../events/bus.ts'
import { type Mailer } from '../../mail/mailer.ts'
import { testMail } from '../../mail/texts.ts'
import { isWayIn } from '../../settings/rules.ts'
import { type Settings } from '../../settings/settings.ts'
import { requirePerson } from '../../users/authorize.ts'
import { type Handlers } from '../handlers.ts'

export type SettingsHandlers = Pick<
  Handlers,
  'getSettings' | 'updateSettings' | 'getAnnouncement' | 'dismissAnnouncement' | 'sendTestMail' | 'authOptions'
>

export interface SettingsRouteDeps {
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventPublisher
  /** Milliseconds since 1970, by the clock of the database. */
  readonly now: () => number
  readonly endPublishedApps: () => Promise<void>
  readonly backendAiPortChanged: () => Promise<void>
  /** Whether the start of this manager has ended sign-ins of browsers. */
  readonly haveSignInsEnded: () => boolean
}

export function createSettingsRoutes({
  settings,
  mailer,
  events,
  now,
  endPublishedApps,
  backendAiPortChanged,
  haveSignInsEnded,
}: SettingsRouteDeps): SettingsHandlers {
  return {
    getSettings: () => settings.read(),
    async updateSettings({ caller }, { body }) {
      if (Object.keys(body).some(isWayIn)) requirePerson(caller)
      const changed = await settings.change(caller, body)
      if (Object.keys(body).some(key => key.startsWith('announcement'))) {
        events.publish({ topic: 'announcement', id: 'all', version: now() }, 'everyone')
      }
      if (!changed.publishApps) await endPublishedApps()
      if (body.backendAiPort !== undefined) await backendAiPortChanged()
      return changed
    },
    getAnnouncement: ({ caller }) => settings.announcement(caller.userId),
    async dismissAnnouncement({ caller: { userId } }, { body }) {
      await settings.dismissAnnouncement(userId, body.id)
      // Hides it in the other windows of this person too.
      events.publish({ topic: 'announcement', id: 'all', version: now() }, { userId })
    },
    sendTestMail: (_context, { body }) => mailer.send(testMail(body.to)),
    authOptions: async () => ({ ...(await settings.authOptions()), signInsEnded: haveSignInsEnded() }),
  }
}
