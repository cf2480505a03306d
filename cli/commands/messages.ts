import { type Command } from 'commander'
import { AppError, type MessageSpec } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { adminOf } from './admin.ts'
import { idOfAgent } from './agents.ts'
import { findSession } from './find-session.ts'

interface MessageFlags {
  agent?: string
  json?: boolean
}

interface ReadFlags {
  clear?: boolean
  account?: boolean
  json?: boolean
}

/** `berth admin message …` and `berth messages`. */
export function addMessageCommands(program: Command): void {
  adminOf(program)
    .command('message <text> [session...]')
    .description('Send a message to the owners of sessions: they see it among their notifications, and by mail.')
    .option('--agent <agent>', 'instead of sessions: the owners of all live sessions on this agent')
    .option('--json', 'print JSON')
    .action(async (text: string, references: string[], { agent, json = false }: MessageFlags) => {
      if ((agent === undefined) === (references.length === 0))
        throw new AppError('bad_request', { why: 'Name sessions, or an agent with --agent.' })
      const connection = await connect()
      const { api } = connection
      const sessionIds: NonNullable<MessageSpec['sessionIds']> = []
      for (const reference of references) sessionIds.push((await findSession(connection, reference)).id)
      const about = agent === undefined ? { sessionIds } : { agentId: await idOfAgent(api, agent) }
      const sent = await api.sendMessage({ body: { text, ...about } })
      const owners = sent.recipients === 1 ? '1 owner' : `${sent.recipients} owners`
      createOutput(json).data(sent, () => `sent to ${owners}${sent.mailed ? ', also by mail' : ''}`)
    })

  program
    .command('messages')
    .description('Messages of administrators to you, newest first.')
    .option('--clear', 'clear them after showing them')
    .option('--account', 'instead: what happened with your account in the last 30 days, cleared or not')
    .option('--json', 'print JSON')
    .action(async ({ clear = false, account = false, json = false }: ReadFlags) => {
      const { api } = await connect()
      const { items } = account ? await api.listAccountNews({ query: {} }) : await api.listMessages()
      const output = createOutput(json)
      if (items.length === 0) output.note('There are no messages.')
      output.data(items, () =>
        items
          .map(
            ({ at, from, text, sessions }) =>
              `${at}  ${from}  (${sessions.map(({ name }) => name).join(', ')})\n${text}`,
          )
          .join('\n\n'),
      )
      const [newest] = items
      if (clear && newest) await api.clearMessages({ query: { until: newest.id } })
    })
}
