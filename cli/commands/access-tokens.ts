import { type Command, Option } from 'commander'
import { defined } from '#base/defined'
import { durationText } from '#base/duration'
import { type AccessToken, TOKEN_SCOPES, type TokenScope } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { parseCount } from './count-option.ts'
import { durationOption } from './duration.ts'
import { proving } from './proving.ts'
import { age } from './text.ts'

interface TokenFlags {
  readonly scope: readonly TokenScope[]
  readonly days?: number
  readonly sessions?: number
  readonly lifetime?: number
  readonly json?: boolean
}

/** Adds `berth token …` for access tokens of one's own. */
export function addAccessTokenCommands(program: Command): void {
  const token = program.command('token').description('Your own access tokens: each may do a part of what you may.')

  token
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listAccessTokens()
      createOutput(json).data(items, () => tokenTable(items))
    })

  token
    .command('create <name>')
    .description('Make an access token for a program. It is shown only this once; the program gets it as BERTH_TOKEN.')
    .addOption(
      new Option(
        '--scope <what...>',
        'read: see what you see; launch: launch sessions, and change and end those; enter: commands, terminals and apps of those; files: your folders',
      )
        .choices(TOKEN_SCOPES)
        .makeOptionMandatory(),
    )
    .option('--days <number>', 'how many days it is valid (default: 30)', parseCount)
    .option('--sessions <number>', 'most sessions at once, waiting or running', parseCount)
    .option('--lifetime <time>', 'longest lifetime of a session, such as 2h', durationOption)
    .option('--json', 'print JSON')
    .action(async (name: string, { scope, days, sessions, lifetime, json = false }: TokenFlags) => {
      const { api } = await connect()
      const limits = defined({ sessions, sessionSeconds: lifetime })
      const budget = Object.keys(limits).length > 0 ? limits : undefined
      const body = { name, scopes: [...new Set(scope)], ...defined({ days, budget }) }
      const made = await proving(proof => api.createAccessToken({ body: { ...body, ...proof } }))
      createOutput(json).data(made, () => made.token)
    })

  token
    .command('rm <id>')
    .description('End an access token. What it opened closes at once; its sessions go on.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.endAccessToken({ params: { id } })
    })
}

const tokenTable = (items: readonly AccessToken[]) =>
  table(
    ['ID', 'NAME', 'SCOPES', 'SESSIONS', 'LONGEST', 'AGE', 'LAST USED', 'ENDS'],
    items.map(({ id, name, scopes, sessions, budget, createdAt, lastUsedAt, expiresAt }) => [
      id,
      name,
      scopes.join(' '),
      budget.sessions === null ? String(sessions) : `${sessions} of ${budget.sessions}`,
      budget.sessionSeconds === null ? '-' : durationText(budget.sessionSeconds),
      age(createdAt),
      lastUsedAt === null ? 'never' : age(lastUsedAt),
      expiresAt.slice(0, 10),
    ]),
  )
