import { type Command } from 'commander'
import { type Manager } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { version } from '../version.ts'
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

/** `berth admin versions`, for superadmins. */
export function addVersionsCommand(program: Command): void {
  adminOf(program)
    .command('versions')
    .description('Versions of the manager, of what it runs on, and of each agent and its Docker Engine.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const versions = await api.getVersions()
      const agents = versions.agents.flatMap(({ version: agent, engineVersion: docker, names }) =>
        names.map(name => ({ name, agent, docker })),
      )
      createOutput(json).data({ cli: version, ...versions, agents }, () =>
        table(
          ['WHAT', 'VERSION', 'DOCKER'],
          [
            ['command line', version, ''],
            ['manager', versions.manager, ''],
            ['Node.js', versions.node, ''],
            ['PostgreSQL', versions.postgresql, ''],
            ['system', versions.platform, ''],
            ...agents.map(({ name, agent, docker }) => [`agent ${name}`, agent, docker]),
          ],
        ),
      )
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
