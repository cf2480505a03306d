import { type Command } from 'commander'
import { AppError, type SignInProvider, SignInProviderChange } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { parseKeyValues } from './key-values.ts'

interface SecretFlags {
  clientSecret?: true
  clientSecretStdin?: true
  json?: boolean
}

/** `berth admin sign-in-provider …`, for superadmins: providers of OpenID Connect. */
export function addSignInProviderCommands(program: Command): void {
  const provider = adminOf(program)
    .command('sign-in-provider')
    .description('Providers of OpenID Connect where people sign in.')

  provider
    .command('ls')
    .description('List the providers, and the callback address to register at each.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items, callbackUrl } = await api.listSignInProviders()
      const output = createOutput(json)
      output.data({ items, callbackUrl }, () => providerTable(items))
      output.note(`Callback URL to register at the provider: ${callbackUrl}`)
    })

  provider
    .command('create <id> [settings...]')
    .description('Add a provider. Further settings: key=value …, as for set.')
    .requiredOption('--name <name>', 'name on the button of the sign-in page')
    .requiredOption('--issuer <url>', 'issuer identifier')
    .requiredOption('--client-id <id>', 'client id at the provider')
    .option('--public', 'a public client, which has no secret')
    .option('--client-secret-stdin', 'read the client secret from standard input')
    .option('--json', 'print JSON')
    .action(async (id: string, settings: string[], flags: CreateFlags) => {
      const { name, issuer, clientId, json = false } = flags
      const body = parseSettings(settings)
      const clientSecret = flags.public ? null : await readSecret(flags)
      const { api } = await connect()
      const made = await api.createSignInProvider({ body: { ...body, id, name, issuer, clientId, clientSecret } })
      const output = createOutput(json)
      output.data(made, () => providerTable([made]))
      output.note(`Next: berth admin sign-in-provider test ${id}`)
    })

  provider
    .command('set <id> [settings...]')
    .description('Change settings of a provider: key=value … Lists and the mapping are JSON; null clears a setting.')
    .option('--client-secret', 'ask for a new client secret')
    .option('--client-secret-stdin', 'read the new client secret from standard input')
    .option('--json', 'print JSON')
    .action(async (id: string, settings: string[], flags: SecretFlags) => {
      const asked = flags.clientSecret ?? flags.clientSecretStdin ?? false
      if (!asked && settings.length === 0) throw new AppError('bad_request', { why: 'Give at least one key=value.' })
      const body = { ...parseSettings(settings), ...(asked ? { clientSecret: await readSecret(flags) } : {}) }
      const { api } = await connect()
      const changed = await api.updateSignInProvider({ params: { id }, body })
      createOutput(flags.json ?? false).data(changed, () => settingsTable(changed))
    })

  provider
    .command('show <id>')
    .description('Show all settings of a provider but the client secret.')
    .option('--json', 'print JSON')
    .action(async (id: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const found = (await api.listSignInProviders()).items.find(item => item.id === id)
      if (!found) throw new AppError('sign_in_provider_not_found', { id })
      createOutput(json).data(found, () => settingsTable(found))
    })

  provider
    .command('test <id>')
    .description('Read the discovery document of a provider now.')
    .option('--json', 'print JSON')
    .action(async (id: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const check = await api.testSignInProvider({ params: { id } })
      createOutput(json).data(check, () => settingsTable(check))
    })

  provider
    .command('rm <id>')
    .description('Remove a provider. Accounts, and their links to its issuer, stay.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.deleteSignInProvider({ params: { id } })
    })
}

interface CreateFlags extends SecretFlags {
  name: string
  issuer: string
  clientId: string
  public?: true
}

function readSecret({ clientSecretStdin }: SecretFlags): Promise<string> {
  return clientSecretStdin ? readStandardInput() : promptSecret('Client secret: ', '--client-secret-stdin')
}

/** Parses `key=value`: JSON where the setting takes it, otherwise text, or texts between commas. */
export function parseSettings(settings: readonly string[]): SignInProviderChange {
  const { clientSecret: _, ...shape } = SignInProviderChange.shape
  const secret = { key: 'clientSecret', option: '--client-secret' }
  return SignInProviderChange.parse(parseKeyValues(settings, { shape, secret, meaningsOf }))
}

function meaningsOf(text: string): unknown[] {
  const texts = text === '' ? [] : text.split(',').map(part => part.trim())
  // Scopes are written with spaces between them wherever providers name them.
  const words = text.split(/[\s,]+/).filter(Boolean)
  try {
    return [JSON.parse(text), text, texts, words]
  } catch {
    return [text, texts, words]
  }
}

const textOf = (value: unknown) => (value === null ? '-' : typeof value === 'string' ? value : JSON.stringify(value))

const settingsTable = (settings: object) =>
  table(
    ['SETTING', 'VALUE'],
    Object.entries(settings).map(([key, value]) => [key, textOf(value)]),
  )

const providerTable = (items: readonly SignInProvider[]) =>
  table(
    ['ID', 'NAME', 'ISSUER', 'ACTIVE', 'ACCOUNTS'],
    items.map(({ id, name, issuer, active, accounts }) => [id, name, issuer, active ? 'yes' : 'no', String(accounts)]),
  )
