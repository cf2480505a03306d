import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type ScimToken } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'

interface Flags {
  domain?: string
  json?: boolean
}

/** `berth admin scim-token …`: tokens with which identity providers write accounts and projects of a domain. */
export function addScimTokenCommands(program: Command): void {
  const token = adminOf(program)
    .command('scim-token')
    .description('Tokens of identity providers (Okta, Entra ID) that write accounts and projects by SCIM 2.0.')

  token
    .command('ls')
    .description('List the tokens of the domains that you administer, and the base URL.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: Flags) => {
      const { api } = await connect()
      const { items, baseUrl } = await api.listScimTokens()
      const output = createOutput(json)
      output.data({ items, baseUrl }, () => tokenTable(items))
      output.note(`Base URL for the identity provider: ${baseUrl}`)
    })

  token
    .command('create <name>')
    .description('Make a token for a domain. It is printed once.')
    .option('--domain <name>', 'domain whose accounts and projects it writes (default: your own)')
    .option('--json', 'print JSON')
    .action(async (name: string, { domain, json = false }: Flags) => {
      const { api } = await connect()
      const made = await api.createScimToken({ body: { name, ...defined({ domain }) } })
      const { baseUrl } = await api.listScimTokens()
      const output = createOutput(json)
      output.data({ ...made, baseUrl }, () => `${tokenTable([made])}\n\nToken, shown only now: ${made.token}`)
      output.note(`Base URL for the identity provider: ${baseUrl}`)
    })

  token
    .command('rm <id>')
    .description('End a token. Accounts and projects stay as they are.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.deleteScimToken({ params: { id } })
    })
}

const tokenTable = (items: readonly ScimToken[]) =>
  table(
    ['ID', 'NAME', 'DOMAIN', 'BY', 'LAST USED'],
    items.map(({ id, name, domain, createdBy, lastUsedAt }) => [id, name, domain, createdBy, lastUsedAt ?? '-']),
  )
