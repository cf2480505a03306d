import { type Command, InvalidArgumentError, Option } from 'commander'
import { defined } from '#base/defined'
import { durationText } from '#base/duration'
import {
  type AccessToken,
  AppError,
  MOST_TOKEN_GPU_HOURS,
  portAppName,
  TOKEN_SCOPES,
  type TokenApp,
  type TokenScope,
} from '#manager/contract'
import { type Connection, connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { parseCount } from './count-option.ts'
import { durationOption } from './duration.ts'
import { findSession } from './find-session.ts'
import { proving } from './proving.ts'
import { age } from './text.ts'

interface TokenFlags {
  readonly scope?: readonly TokenScope[]
  readonly days?: number
  readonly sessions?: number
  readonly lifetime?: number
  readonly gpuHours?: number
  readonly app?: string
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
        'read: see what you see; launch: launch sessions, and change and end those; enter: commands, terminals and apps of those; files: your folders; apps: requests to web apps of those',
      ).choices(TOKEN_SCOPES),
    )
    .option(
      '--app <session/app>',
      'reach this web app or port of a session of yours, and nothing else: train/http-8000',
    )
    .option('--days <number>', 'how many days it is valid (default: 30)', parseCount)
    .option('--sessions <number>', 'most sessions at once, waiting or running', parseCount)
    .option('--lifetime <time>', 'longest lifetime of a session, such as 2h', durationOption)
    .option('--gpu-hours <number>', 'most GPU hours of all its sessions together, such as 20', parseGpuHours)
    .option('--json', 'print JSON')
    .action(async (name: string, flags: TokenFlags) => {
      const { days, sessions, lifetime, gpuHours, json = false } = flags
      const scopes = scopesOf(flags)
      const connection = await connect()
      const { api } = connection
      const app = flags.app === undefined ? undefined : await appOf(connection, flags.app)
      const limits = defined({ sessions, sessionSeconds: lifetime, gpuHours })
      const budget = Object.keys(limits).length > 0 ? limits : undefined
      const body = { name, scopes, ...defined({ days, budget, app }) }
      const made = await proving(proof => api.createAccessToken({ body: { ...body, ...proof } }))
      const at = app && { url: `${connection.endpoint}/apps/${app.sessionId}/${app.app}/` }
      createOutput(json).data({ ...made, ...at }, () => made.token)
      if (at && !json) createOutput(json).note(`Try it: curl -H "Authorization: Bearer $BERTH_TOKEN" ${at.url}`)
    })

  token
    .command('rm <id>')
    .description('End an access token. What it opened closes at once; its sessions go on.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.endAccessToken({ params: { id } })
    })
}

/** @throws AppError `bad_request` */
function scopesOf({ scope, app }: TokenFlags): TokenScope[] {
  if (scope !== undefined) return [...new Set(scope)]
  if (app !== undefined) return ['apps']
  throw new AppError('bad_request', { why: 'Say what the token may with --scope, or which app it reaches with --app.' })
}

/** @param text session and app, such as `train/http-8000` or `train/8000` @throws AppError those of `findSession` */
async function appOf(connection: Connection, text: string): Promise<TokenApp> {
  const [, session = text, named = ''] = /^(.+)\/([^/]+)$/.exec(text) ?? []
  if (named === '')
    throw new AppError('bad_request', { why: 'Name session and app with a slash between: --app train/http-8000.' })
  const { id } = await findSession(connection, session)
  return { sessionId: id, app: /^\d+$/.test(named) ? portAppName('http', Number(named)) : named }
}

function parseGpuHours(text: string): number {
  const hours = Number(text)
  if (hours >= 0.01 && hours <= MOST_TOKEN_GPU_HOURS) return hours
  throw new InvalidArgumentError(`Give hours from 0.01 to ${MOST_TOKEN_GPU_HOURS}.`)
}

const tokenTable = (items: readonly AccessToken[]) =>
  table(
    ['ID', 'NAME', 'SCOPES', 'SESSIONS', 'LONGEST', 'GPU HOURS', 'AGE', 'LAST USED', 'ENDS'],
    items.map(({ id, name, scopes, app, sessions, gpuHours, budget, createdAt, lastUsedAt, expiresAt }) => [
      id,
      name,
      app ? `${app.sessionName ?? app.sessionId}/${app.app}` : scopes.join(' '),
      budget.sessions === null ? String(sessions) : `${sessions} of ${budget.sessions}`,
      budget.sessionSeconds === null ? '-' : durationText(budget.sessionSeconds),
      budget.gpuHours === null ? String(gpuHours) : `${gpuHours} of ${budget.gpuHours}`,
      age(createdAt),
      lastUsedAt === null ? 'never' : age(lastUsedAt),
      expiresAt.slice(0, 10),
    ]),
  )
