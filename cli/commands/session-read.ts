import { type Command, Option } from 'commander'
import { defined } from '#base/defined'
import { emptyLogText, SessionSort } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { parseCount } from './count-option.ts'
import { durationOption } from './duration.ts'
import { everyPage } from './every-page.ts'
import { findSession } from './find-session.ts'
import { card, eventLine, sessionTable, statsTable } from './session-text.ts'
import { type LogFlags, writeWholeLog } from './whole-log.ts'

interface LsFlags {
  readonly all?: boolean
  readonly accessKey?: string
  readonly status?: string
  readonly tag?: string
  readonly search?: string
  readonly sort?: SessionSort
}

interface JsonFlag {
  readonly json?: boolean
}

/** Adds the commands that only read: `berth session ls`, `show`, `stats`, `logs` and `events`. */
export function addSessionReadCommands(session: Command): void {
  session
    .command('ls')
    .description('List live sessions, newest first. --all shows finished ones too.')
    .option('--all', 'also show finished sessions')
    .option('--status <list>', 'live, finished, failed, or statuses separated by commas')
    .option('--tag <tag>', 'only sessions with this tag')
    .option('--search <text>', 'part of the name, the image, the resource group or the e-mail address of the owner')
    .option('--access-key <key>', 'only sessions that were launched with this keypair')
    .addOption(new Option('--sort <order>', 'order, falling with a minus: --sort=-name').choices(SessionSort.options))
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag & LsFlags) => {
      const { api, userId } = await connect()
      const status = flags.status ?? (flags.all ? undefined : 'live')
      const items = await everyPage(cursor =>
        api.listSessions({
          query: {
            status: status || undefined,
            tag: flags.tag,
            search: flags.search,
            accessKey: flags.accessKey,
            sort: flags.sort,
            ...cursor,
          },
        }),
      )
      const me = await userId()
      createOutput(flags.json ?? false).data(items, () => sessionTable(items, me))
    })

  session
    .command('show <session>')
    .description('Show one session with its resources, apps and status reason.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const found = await findSession(await connect(), reference)
      createOutput(json).data(found, () => card(found))
    })

  session
    .command('stats <session>')
    .description('Usage of a session over time: the last 5 minutes by the second, the last 7 days by the minute.')
    .option('--last <time>', 'how far back, e.g. 5m or 2d', durationOption, 3_600)
    .option('--step <time>', 'time per line', durationOption)
    .option('--kernel <role>', 'one container of a session that has several, e.g. sub1; left out: all together')
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & { last: number; step?: number; kernel?: string }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      // No end is sent: the manager uses the current time of its own clock.
      const from = new Date(Date.now() - flags.last * 1000).toISOString()
      const more = defined({ step: flags.step, kernel: flags.kernel })
      const stats = await api.getSessionStats({ params: { id }, query: { from, ...more } })
      createOutput(flags.json ?? false).data(stats, () => statsTable(stats.items))
    })

  session
    .command('logs <session>')
    .description('Show the log of the main container, or of another one.')
    .option('--kernel <role>', 'e.g. sub1')
    .option('--tail <lines>', 'number of last lines', parseCount, 2000)
    .option('--all', 'everything that is kept; of a running session the last megabyte')
    .option('--output <file>', 'write everything that is kept to a file, which must not exist yet')
    .option('--timestamps', 'while the session runs: the time before each line')
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: LogFlags) => {
      const connection = await connect()
      const { api } = connection
      const session = await findSession(connection, reference)
      const output = createOutput(flags.json ?? false)
      const params = { id: session.id }
      if (flags.all === true || flags.output !== undefined) return writeWholeLog({ api, session, output }, flags)
      const logs = await api.getSessionLogs({
        params,
        query: {
          tail: flags.tail,
          ...defined({ kernel: flags.kernel }),
          ...(flags.timestamps ? { timestamps: 'true' } : {}),
        },
      })
      if (logs.text === '') output.note(emptyLogText(session))
      if (logs.text !== '' || output.json) output.data(logs, () => logs.text.replace(/\n$/, ''))
      if (logs.truncated) output.note('Older lines are not shown: --all shows everything that is kept.')
    })

  session
    .command('events <session>')
    .description('Show every status change of a session with its reason.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const items = await everyPage(query => api.listSessionEvents({ params: { id }, query }))
      createOutput(json).data(items, () => items.map(eventLine).join('\n'))
    })
}
