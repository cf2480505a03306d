import { type Command } from 'commander'
import { type Manager } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { age } from './text.ts'

/** `berth admin manager …`, for superadmins. */
export function addManagerCommands(program: Command): void {
  const admin = adminOf(program)
  admin
    .command('manager')
    .description('Manager processes that share the database.')
    .command('ls')
    .description('List the managers, what each does, and their problems.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items, warnings } = await api.listManagers()
      const output = createOutput(json)
      for (const { message } of warnings) output.note(`warning: ${message}`)
      output.data({ items, warnings }, () => managerTable(items))
    })
}

const managerTable = (items: readonly Manager[]) =>
  table(
    ['ID', 'URL', 'VERSION', 'SINCE', 'SEEN', 'SCHEDULES', 'AGENTS'],
    items.map(one => [
      one.self ? `${one.id} *` : one.id,
      one.url,
      one.version,
      age(one.startedAt),
      `${age(one.seenAt)} ago`,
      one.schedules.join(', ') || '-',
      agentsOf(one),
    ]),
  )

function agentsOf({ agents, agentsVia, agentsMissing }: Manager): string {
  const notes = [
    ...(agentsVia > 0 ? [`${agentsVia} through another manager`] : []),
    ...(agentsMissing > 0 ? [`${agentsMissing} missing`] : []),
  ]
  return notes.length > 0 ? `${agents} (${notes.join(', ')})` : String(agents)
}
