import { type Command } from 'commander'
import { type Agent, type AgentId, type ApiClient, AppError } from '#manager/contract'
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
      const output = createOutput(json)
      for (const { name, problem } of items) if (problem) output.note(`agent ${name}: ${problem}`)
      output.data(items, () => agentTable(items))
    })

  agent
    .command('join-token')
    .description('A one-time join string for a new agent: `berth agent --join STRING` on its host, within 15 minutes.')
    .option('--resource-group <name>', 'which one the agent comes into', 'default')
    .option('--json', 'print JSON')
    .action(async ({ json = false, resourceGroup }: JsonFlag & { resourceGroup: string }) => {
      const { api } = await connect()
      const token = await api.createJoinToken({ body: { resourceGroup } })
      createOutput(json).data(token, () => token.join)
    })

  for (const [name, schedulable, description] of SWITCH) {
    agent
      .command(`${name} <agent>`)
      .description(description)
      .option('--json', 'print JSON')
      .action(async (wanted: string, { json = false }: JsonFlag) => {
        const { api } = await connect()
        const changed = await api.updateAgent({ params: { id: await idOf(api, wanted) }, body: { schedulable } })
        createOutput(json).data(changed, () => agentTable([changed]))
      })
  }

  agent
    .command('forget <agent>')
    .description('Revoke an agent that will not come back; its sessions end as agent_forgotten.')
    .action(async (wanted: string) => {
      const { api } = await connect()
      await api.forgetAgent({ params: { id: await idOf(api, wanted) } })
    })
}

const SWITCH = [
  ['pause', false, 'Give it no new sessions, for maintenance; what runs there goes on.'],
  ['resume', true, 'Give it sessions again.'],
] as const

/** By id, or by name where only one has it. */
async function idOf(api: ApiClient, wanted: string): Promise<AgentId> {
  const { items } = await api.listAgents()
  const found = items.filter(({ id, name, status }) => id === wanted || (name === wanted && status !== 'REVOKED'))
  const [one] = found
  if (!one) throw new AppError('not_found', { why: `No agent is called ${wanted}; see \`berth admin agent ls\`.` })
  if (found.length > 1)
    throw new AppError('bad_request', { why: `Several agents are called ${wanted}; name one by id.` })
  return one.id
}

const agentTable = (items: readonly Agent[]) =>
  table(
    ['ID', 'NAME', 'GROUP', 'STATUS', 'OCCUPIED', 'CAPACITY', 'SEEN'],
    items.map(one => [
      one.id,
      one.name,
      one.resourceGroup,
      one.schedulable ? one.status : `${one.status}, paused`,
      amounts(one.occupied),
      amounts(one.capacity),
      `${age(one.lastSeenAt)} ago`,
    ]),
  )
