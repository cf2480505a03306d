import { type Command } from 'commander'
import { type ScopeUsage, SLOT_NAMES, SLOTS } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { findGroup, findUserId } from './find-user.ts'
import { bytes } from './text.ts'

interface UsageFlags {
  user?: string
  group?: string
  domain?: string
  json?: boolean
}

/** `berth usage`, and `berth admin recalculate`. */
export function addUsageCommands(program: Command): void {
  program
    .command('usage')
    .description('Show what you, your keypairs, projects and domain use, and what is left.')
    .option('--user <user>', 'usage of another user (e-mail address or id); admins only')
    .option('--group <group>', 'usage of one project (name, domain/name or id)')
    .option('--domain <name>', 'usage of a domain and its projects; admins only')
    .option('--json', 'print JSON')
    .action(async ({ user, group, domain, json = false }: UsageFlags) => {
      const { api } = await connect()
      const query = {
        ...(user === undefined ? {} : { userId: await findUserId(api, user) }),
        ...(group === undefined ? {} : { groupId: (await findGroup(api, group)).id }),
        ...(domain === undefined ? {} : { domain }),
      }
      const { items } = await api.getUsage({ query })
      createOutput(json).data(items, () => usageTable(items))
    })

  const admin = adminOf(program)
  admin
    .command('recalculate')
    .description(
      'Compare the recorded usage with the containers on every connected agent, correct the differences and list them.',
    )
    .option('--json', 'print JSON')
    .action(async ({ json = false }: UsageFlags) => {
      const { api } = await connect()
      const output = createOutput(json)
      const done = await api.recalculateUsage()
      for (const agent of done.agents) {
        if (!agent.compared) output.note(`agent ${agent.name} was not compared and not changed: ${agent.why}`)
      }
      output.data(done, () => {
        const containers = done.agents.reduce((sum, agent) => sum + agent.containers, 0)
        const { correctedDays: days } = done
        if (done.findings.length === 0 && days === 0)
          return `No differences: ${containers} ${containers === 1 ? 'container' : 'containers'}.`
        const sums = `daily_sums  The sums of usage of ${days} ${days === 1 ? 'day' : 'days'} differed from the sessions. They were corrected.`
        return [
          ...done.findings.map(finding => `${finding.kind}  ${finding.message}`),
          ...(days > 0 ? [sums] : []),
        ].join('\n')
      })
    })
}

const usageTable = (items: readonly ScopeUsage[]) =>
  table(
    ['WHOSE', 'NAME', 'POLICY', 'SESSIONS', ...SLOT_NAMES.map(slot => SLOTS[slot].label)],
    items.map(one => [
      one.kind,
      one.name,
      one.policy ?? '–',
      ofLimit(String(one.sessions), one.maxSessions === null ? undefined : String(one.maxSessions)),
      ...SLOT_NAMES.map(slot => ofLimit(shown(slot, one.held[slot] ?? '0'), shown(slot, one.limits[slot]))),
    ]),
  )

const ofLimit = (held: string | undefined, limit: string | undefined) => `${held ?? '0'} / ${limit ?? '∞'}`

function shown(slot: (typeof SLOT_NAMES)[number], amount: string | undefined): string | undefined {
  return amount !== undefined && slot === 'mem' ? bytes(Number(amount)) : amount
}
