import { type Command } from 'commander'
import { defined } from '#base/defined'
import { AppError, type SystemSettings, SystemSettingsChange } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { parseKeyValues } from './key-values.ts'
import { parseMoment } from './moment.ts'
import { age } from './text.ts'

/** `berth admin settings …`, for superadmins. */
export function addSettingsCommands(program: Command): void {
  const admin = adminOf(program)
  const settings = admin.command('settings').description('Settings of the whole system: sign-up, links and mail.')

  settings
    .command('show')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const current = await api.getSettings()
      createOutput(json).data(current, () => settingsTable(current))
    })

  settings
    .command('set [changes...]')
    .description(
      'Change settings: key=value … An empty value or null clears a setting. Times are such as "2026-05-04 18:00" or +2h.',
    )
    .option('--smtp-password', 'ask for the password of the mail server')
    .option('--smtp-password-stdin', 'read the password of the mail server from standard input')
    .option('--json', 'print JSON')
    .action(async (changes: string[], flags: { smtpPassword?: true; smtpPasswordStdin?: true; json?: boolean }) => {
      const body = parseChanges(changes)
      const asked = flags.smtpPassword ?? flags.smtpPasswordStdin ?? false
      if (!asked && changes.length === 0) throw new AppError('bad_request', { why: 'Give at least one key=value.' })
      const { api } = await connect()
      const smtpPassword = flags.smtpPasswordStdin ? await readStandardInput() : asked ? await askPassword() : undefined
      const changed = await api.updateSettings({
        body: { ...body, ...defined({ smtpPassword }) },
      })
      createOutput(flags.json ?? false).data(changed, () => settingsTable(changed))
    })

  settings
    .command('test-mail <address>')
    .description('Send a test mail to yourself with the current settings, and show the result.')
    .action(async (to: string) => {
      const { api } = await connect()
      await api.sendTestMail({ body: { to } })
      createOutput(false).note(`The mail server accepted a mail to ${to}.`)
    })
}

const askPassword = () => promptSecret('Password for the mail server: ', '--smtp-password-stdin')

/** Parses `key=value` by the type of the key: a number, true or false, null, or text. */
export function parseChanges(changes: readonly string[]): SystemSettingsChange {
  const { smtpPassword: _, ...shape } = SystemSettingsChange.shape
  const secret = { key: 'smtpPassword', option: '--smtp-password' }
  const meaningsOf = (text: string, key: string) => (isMoment(key) ? momentsOf(text) : meanings(text))
  return SystemSettingsChange.parse(parseKeyValues(changes, { shape, secret, meaningsOf }))
}

const isMoment = (key: string) => key === 'announcementFrom' || key === 'announcementUntil'

/** @throws AppError `bad_request` */
function momentsOf(text: string): unknown[] {
  if (text === '' || text === 'null') return [null]
  try {
    return [parseMoment(text)]
  } catch (error) {
    throw new AppError('bad_request', { why: error instanceof Error ? error.message : String(error) })
  }
}

function meanings(text: string): unknown[] {
  if (text === '' || text === 'null') return [null]
  if (text === 'true' || text === 'false') return [text === 'true', text]
  return /^-?\d+(\.\d+)?$/.test(text) ? [Number(text), text] : [text]
}

export const settingsTable = ({ changes, ...settings }: SystemSettings) =>
  table(
    ['SETTING', 'VALUE', 'CHANGED BY', 'AGE'],
    Object.entries(settings).map(([key, value]) => {
      const change = changes[key]
      return [key, valueText(key, value), change?.by ?? '', change ? age(change.at) : '']
    }),
  )

function valueText(key: string, value: string | number | boolean | null): string {
  if (key !== 'mailReady') return value === null ? '-' : String(value)
  // The settings are complete; whether the server takes a mail is known only after one was sent.
  return value === true ? 'set (test-mail tries it)' : 'no: needs smtpHost, smtpFrom and publicUrl'
}
