import { type Command } from 'commander'
import { type Agent } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { age, amounts } from './text.ts'

interface JsonFlag {
  json?: boolean
}

/** `berth admin agent …`, for superadmins. */
export function addAgentCommands(program: Command): void {
  const agent = program
    .command('admin')
    .description('For administrators.')
    .command('agent')
    .description('Docker hosts.')

  agent
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listAgents()
      createOutput(json).data(items, () => agentTable(items))
    })

  agent
    .command('join-token')
    .description('A one-time join string for a new agent (BERTH_JOIN of `berth agent`).')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const token = await api.createJoinToken({ body: {} })
      createOutput(json).data(token, () => token.join)
    })

  agent
    .command('forget <id>')
    .description('Revoke an agent that will not come back; its sessions end as agent_forgotten.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.forgetAgent({ params: { id } })
    })
}

const agentTable = (items: readonly Agent[]) =>
  table(
    ['ID', 'NAME', 'STATUS', 'OCCUPIED', 'CAPACITY', 'SEEN'],
    items.map(one => [
      one.id,
      one.name,
      one.status,
      amounts(one.occupied),
      amounts(one.capacity),
      `${age(one.lastSeenAt)} ago`,
    ]),
  )
