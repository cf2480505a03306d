import { type Command } from 'commander'
import { defined } from '#base/defined'
import { AppError, type PublishedApp } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { durationOption } from './duration.ts'
import { findSession } from './find-session.ts'

interface PublishFlags {
  for?: number
  password?: boolean
  passwordStdin?: boolean
  address?: string[]
  port?: number
  json?: boolean
}

/** `berth app publish|unpublish|ls`: links that open an app to people without an account. */
export function addPublishedAppCommands(app: Command, parsePort: (text: string) => number): void {
  app
    .command('publish <session> <app>')
    .description('Open a web app of your session to everybody who has the link, until the link ends.')
    .option('--for <duration>', 'time until the link ends, such as 90m or 8h; default 8h', durationOption)
    .option('--password', 'ask for a password that visitors have to enter')
    .option('--password-stdin', 'read that password from standard input')
    .option('--address <address...>', 'only visitors from these addresses or ranges, such as 203.0.113.0/24')
    .option('--port <number>', 'try this port first, where apps are published at ports', parsePort)
    .option('--json', 'print JSON')
    .action(async (reference: string, name: string, flags: PublishFlags) => {
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      const password = await passwordOf(flags)
      const body = {
        ...(flags.for === undefined ? {} : { hours: flags.for / 3600 }),
        ...defined({ password, addresses: flags.address, port: flags.port }),
      }
      const made = await connection.api.publishApp({ params: { id, app: name }, body })
      const output = createOutput(flags.json ?? false)
      output.data(made, () => made.url ?? '')
      output.note(`Open until ${made.expiresAt}. End it earlier: berth app unpublish ${made.id}`)
      if (flags.port !== undefined && made.port !== null && made.port !== flags.port) {
        output.note(`Port ${flags.port} is not available; the link uses port ${made.port}.`)
      }
    })

  app
    .command('unpublish <id>')
    .description('End a link at once, and the connections of its visitors. Name it by its id, or the beginning of it.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listPublishedApps()
      const found = items.filter(({ id }) => id.startsWith(reference.toLowerCase()))
      const [one] = found
      if (!one || found.length > 1) {
        const why = one ? `Several links begin with "${reference}".` : `No open link has the id "${reference}".`
        throw new AppError('published_app_not_found', { why })
      }
      const { connections } = await api.unpublishApp({ params: { publishedId: one.id } })
      createOutput(json).data(
        { connections },
        () => `The link has ended. Connections of visitors that ended with it: ${connections}`,
      )
    })

  app
    .command('ls [session]')
    .description('Open links to apps, of one session or of all that you may see.')
    .option('--json', 'print JSON')
    .action(async (reference: string | undefined, { json = false }: { json?: boolean }) => {
      const connection = await connect()
      const session = reference === undefined ? undefined : (await findSession(connection, reference)).id
      const { items } = await connection.api.listPublishedApps({ query: defined({ session }) })
      createOutput(json).data(items, () => publishedTable(items))
    })
}

async function passwordOf({ password, passwordStdin }: PublishFlags): Promise<string | undefined> {
  if (passwordStdin) return await readStandardInput()
  return password ? await promptSecret('Password for visitors: ') : undefined
}

function publishedTable(items: readonly PublishedApp[]): string {
  return table(
    ['ID', 'SESSION', 'APP', 'ENDS', 'VISITS', 'PASSWORD', 'ADDRESSES', 'LINK'],
    items.map(one => [
      one.id,
      one.sessionName,
      one.app,
      one.expiresAt,
      String(one.visits),
      one.hasPassword ? 'yes' : 'no',
      one.addresses.length === 0 ? 'any' : one.addresses.join(' '),
      one.url ?? `of ${one.owner}`,
    ]),
  )
}
