import { type Mailer } from '../../mail/mailer.ts'
import { testMail } from '../../mail/texts.ts'
import { type Settings } from '../../settings/settings.ts'
import { type Handlers } from '../handlers.ts'

export type SettingsHandlers = Pick<Handlers, 'getSettings' | 'updateSettings' | 'sendTestMail' | 'authOptions'>

export function createSettingsRoutes({ settings, mailer }: { settings: Settings; mailer: Mailer }): SettingsHandlers {
  return {
    getSettings: () => settings.read(),
    updateSettings: (_context, { body }) => settings.change(body),
    sendTestMail: (_context, { body }) => mailer.send(testMail(body.to)),
    authOptions: () => settings.authOptions(),
  }
}
