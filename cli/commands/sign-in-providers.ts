import { type Command } from 'commander'
import { defined } from '#base/defined'
import {
  AppError,
  DirectoryChange,
  DirectorySettings,
  type SignInProvider,
  SignInProviderChange,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { readInputFile } from '../input-file.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { parseKeyValues } from './key-values.ts'

interface SecretFlags {
  clientSecret?: true
  clientSecretStdin?: true
  json?: boolean
}

/** `berth admin sign-in-provider …`, for superadmins: providers of OpenID Connect, and LDAP directories. */
export function addSignInProviderCommands(program: Command): void {
  const provider = adminOf(program)
    .command('sign-in-provider')
    .description('Providers of OpenID Connect, and LDAP directories, where people sign in.')

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
    .option('--issuer <url>', 'of OpenID Connect: issuer identifier')
    .option('--client-id <id>', 'of OpenID Connect: client id at the provider')
    .option('--public', 'a public client, which has no secret')
    .option('--ldap <url...>', 'of a directory: its servers, such as ldaps://dc1.example.org')
    .option('--base <dn>', 'of a directory: entry below which people are searched')
    .option('--bind-dn <dn>', 'of a directory: account that searches; its password is the secret')
    .option('--direct-bind <name>', 'of a directory: bind as the person instead, with {username}')
    .option('--ca-file <path>', 'of a directory: PEM certificates of the only authorities to trust')
    .option('--client-secret-stdin', 'read the client secret, or the password of --bind-dn, from standard input')
    .option('--json', 'print JSON')
    .action(async (id: string, settings: string[], flags: CreateFlags) => {
      const body = await specOf(settings, flags)
      const isDirect = 'directory' in body && body.directory.bindDn === null
      const clientSecret = flags.public || isDirect ? null : await readSecret(flags)
      const { api } = await connect()
      const made = await api.createSignInProvider({ body: { ...body, id, name: flags.name, clientSecret } })
      const output = createOutput(flags.json ?? false)
      output.data(made, () => providerTable([made]))
      output.note(`Next: berth admin sign-in-provider test ${id}`)
    })

  provider
    .command('set <id> [settings...]')
    .description(
      "Change settings of a provider: key=value … Lists are words, such as scopes='email profile', or JSON, as the mapping is; null clears a setting.",
    )
    .option('--ca-file <path>', 'of a directory: PEM certificates of the only authorities to trust')
    .option('--client-secret', 'ask for a new client secret, or password of bindDn')
    .option('--client-secret-stdin', 'read the new secret from standard input')
    .option('--json', 'print JSON')
    .action(async (id: string, settings: string[], flags: SecretFlags & AuthorityFlags) => {
      const asked = flags.clientSecret ?? flags.clientSecretStdin ?? false
      const change = withDirectory(parseSettings(settings), await authorityOf(flags))
      if (!asked && Object.keys(change).length === 0) {
        throw new AppError('bad_request', { why: 'Give at least one key=value.' })
      }
      const body = { ...change, ...(asked ? { clientSecret: await readSecret(flags) } : {}) }
      const { api } = await connect()
      const changed = await api.updateSignInProvider({ params: { id }, body })
      createOutput(flags.json ?? false).data(changed, () => settingsTable(flat(changed)))
    })

  provider
    .command('show <id>')
    .description('Show all settings of a provider but the client secret.')
    .option('--json', 'print JSON')
    .action(async (id: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const found = (await api.listSignInProviders()).items.find(item => item.id === id)
      if (!found) throw new AppError('sign_in_provider_not_found', { id })
      createOutput(json).data(found, () => settingsTable(flat(found)))
    })

  provider
    .command('test <id>')
    .description('Read the discovery document of a provider, or bind to a directory, now.')
    .option('--json', 'print JSON')
    .action(async (id: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const check = await api.testSignInProvider({ params: { id } })
      createOutput(json).data(check, () => settingsTable(check))
    })

  provider
    .command('look-up <id> <username>')
    .description('Look a person up in a directory: what Berth reads, and the groups to name in the mapping.')
    .option('--json', 'print JSON')
    .action(async (id: string, username: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const person = await api.lookUpInDirectory({ params: { id }, body: { username } })
      createOutput(json).data(person, () => settingsTable(person))
    })

  provider
    .command('rm <id>')
    .description('Remove a provider. Accounts, and their links to its issuer, stay.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.deleteSignInProvider({ params: { id } })
    })
}

interface AuthorityFlags {
  caFile?: string
}

interface CreateFlags extends SecretFlags, AuthorityFlags {
  name: string
  issuer?: string
  clientId?: string
  public?: true
  ldap?: string[]
  base?: string
  bindDn?: string
  directBind?: string
}

async function authorityOf({ caFile }: AuthorityFlags): Promise<DirectoryChange> {
  return caFile === undefined ? {} : { caCertificates: (await readInputFile(caFile)).toString('utf8') }
}

const withDirectory = (change: SignInProviderChange, more: DirectoryChange): SignInProviderChange =>
  Object.keys(more).length === 0 ? change : { ...change, directory: { ...change.directory, ...more } }

async function specOf(settings: readonly string[], flags: CreateFlags) {
  const { issuer, clientId, ldap: urls, base, bindDn, directBind } = flags
  const { directory, ...change } = withDirectory(parseSettings(settings), {
    ...(await authorityOf(flags)),
    ...defined({ urls, base, bindDn, directBind }),
  })
  if (directory === undefined) return { ...change, ...defined({ issuer, clientId }) }
  const parsed = DirectorySettings.safeParse(directory)
  if (parsed.success)
    return { ...change, kind: 'ldap' as const, directory: parsed.data, ...defined({ issuer, clientId }) }
  const [issue] = parsed.error.issues
  const why = `${issue?.path.join('.')}: ${issue?.message}. A directory needs --ldap and --base, and --bind-dn or --direct-bind.`
  throw new AppError('bad_request', { why })
}

function readSecret({ clientSecretStdin }: SecretFlags): Promise<string> {
  return clientSecretStdin ? readStandardInput() : promptSecret('Client secret or password: ', '--client-secret-stdin')
}

/** Parses `key=value`: JSON where the setting takes it, otherwise text, or texts between commas. Keys of a directory stand beside the others. */
export function parseSettings(settings: readonly string[]): SignInProviderChange {
  const { clientSecret: _, directory: __, ...own } = SignInProviderChange.shape
  const shape = { ...own, ...DirectoryChange.shape }
  const secret = { key: 'clientSecret', option: '--client-secret' }
  const all = Object.entries(parseKeyValues(settings, { shape, secret, meaningsOf }))
  const isOfDirectory = ([key]: readonly [string, unknown]) => Object.hasOwn(DirectoryChange.shape, key)
  const directory = Object.fromEntries(all.filter(isOfDirectory))
  const change = Object.fromEntries(all.filter(one => !isOfDirectory(one)))
  return SignInProviderChange.parse(Object.keys(directory).length === 0 ? change : { ...change, directory })
}

/** The settings of a directory beside the others, as `set` takes them. */
const flat = ({ directory, ...settings }: SignInProvider) => ({ ...settings, ...directory })

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
    ['ID', 'NAME', 'AT', 'ACTIVE', 'ACCOUNTS'],
    items.map(({ id, name, issuer, directory, active, accounts }) => [
      id,
      name,
      directory?.urls[0] ?? issuer,
      active ? 'yes' : 'no',
      String(accounts),
    ]),
  )
