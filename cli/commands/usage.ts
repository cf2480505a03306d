import { type Command, Option } from 'commander'
import { defined } from '#base/defined'
import {
  IDLE_GPU_MINUTES,
  type IdleOwner,
  type LimitUse,
  type LimitUser,
  type ScopeUsage,
  SLOT_NAMES,
  SLOTS,
  USAGE_DIMENSIONS,
  type UsageReport,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { allPages, everyPage } from './every-page.ts'
import { findGroup, findUserId } from './find-user.ts'
import { parseMoment } from './moment.ts'
import { age, bytes, whoseText } from './text.ts'

interface UsageFlags {
  user?: string
  project?: string
  domain?: string
  json?: boolean
}

/** `berth usage`, and `berth admin recalculate`. */
export function addUsageCommands(program: Command): void {
  program
    .command('usage')
    .description('Show what you, your keypairs, projects and domain use, and what is left.')
    .option('--user <user>', 'usage of another user (e-mail address or id); admins only')
    .option('--project <project>', 'usage of one project (name, domain/name or id)')
    .option('--domain <name>', 'usage of a domain and its projects; admins only')
    .option('--json', 'print JSON')
    .action(async ({ user, project, domain, json = false }: UsageFlags) => {
      const { api } = await connect()
      const query = {
        ...(user === undefined ? {} : { userId: await findUserId(api, user) }),
        ...(project === undefined ? {} : { groupId: (await findGroup(api, project)).id }),
        ...defined({ domain }),
      }
      const { items } = await api.getUsage({ query })
      createOutput(json).data(items, () => usageTable(items))
    })

  const admin = adminOf(program)
  addAdminUsage(admin)
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

interface LimitFlags {
  policy?: string
  project?: string
  domain?: string
  json?: boolean
}

interface ReportFlags {
  by: string
  from?: string
  to?: string
  json?: boolean
}

/** `berth admin usage …`: what sessions held and used, and GPUs that do nothing. */
function addAdminUsage(admin: Command): void {
  const usage = admin.command('usage').description('What sessions held and used, and GPUs that do nothing.')
  usage
    .command('report')
    .description('Hours held and used by sessions, with the GPU-hours that were held and not used.')
    .addOption(new Option('--by <what>', 'add up by').choices(USAGE_DIMENSIONS).default('user'))
    .option('--from <time>', 'begin of the period, such as 2026-11-01; 30 days before its end if left out', text =>
      parseMoment(text),
    )
    .option('--to <time>', 'end of the period; now if left out', text => parseMoment(text))
    .option('--json', 'print JSON')
    .action(async ({ by, from, to, json = false }: ReportFlags) => {
      const { api } = await connect()
      const query = {
        by: USAGE_DIMENSIONS.find(one => one === by) ?? 'user',
        ...defined({ from, to }),
      }
      const report = await api.getUsageReport({ query })
      const output = createOutput(json)
      if (report.total > report.items.length) {
        output.note(`The first ${report.items.length} of ${report.total} are listed, those with the most GPU-hours.`)
      }
      output.data(report.items, () => reportTable(report.items))
    })
  usage
    .command('limits')
    .description('Who uses how much of the limits of a resource policy, a project or a domain.')
    .option('--policy <name>', 'users and keypairs of a resource policy')
    .option('--project <project>', 'users of a project (name, domain/name or id)')
    .option('--domain <name>', 'users of a domain')
    .option('--json', 'print JSON')
    .action(async ({ policy, project, domain, json = false }: LimitFlags) => {
      const { api } = await connect()
      const of = {
        ...defined({ policy }),
        ...(project === undefined ? {} : { groupId: (await findGroup(api, project)).id }),
        ...defined({ domain }),
      }
      const pages = await allPages(page => api.getLimitUse({ query: { ...of, ...page } }))
      const [{ nextCursor: _, shared, ...use }] = pages
      const items = pages.flatMap(page => page.items)
      const rows = [...items, ...(shared ? [{ kind: 'all', name: '', ...shared }] : [])]
      createOutput(json).data(json ? { ...use, shared, items } : rows, () => limitTable(rows, use))
    })
  usage
    .command('idle')
    .description('Running sessions whose GPUs do nothing, by owner.')
    .option('--minutes <number>', 'how long at least', String(IDLE_GPU_MINUTES))
    .option('--json', 'print JSON')
    .action(async ({ minutes, json = false }: { minutes: string; json?: boolean }) => {
      const { api } = await connect()
      const items = await everyPage(page => api.listIdleGpus({ query: { ...page, minutes } }))
      createOutput(json).data(items, () => idleTable(items))
    })
}

const limitTable = (
  rows: readonly (Pick<LimitUser, 'name' | 'held' | 'sessions'> & { readonly kind: string })[],
  { limits, maxSessions }: Pick<LimitUse, 'limits' | 'maxSessions'>,
) =>
  table(
    ['WHO', 'NAME', 'SESSIONS', ...SLOT_NAMES.map(slot => SLOTS[slot].label)],
    rows.map(one => [
      one.kind,
      one.name,
      ofLimit(String(one.sessions), maxSessions === null ? undefined : String(maxSessions)),
      ...SLOT_NAMES.map(slot => ofLimit(shown(slot, one.held[slot] ?? '0'), shown(slot, limits[slot]))),
    ]),
  )

const part = (idle: number | null) => (idle === null ? '–' : `${Math.round(100 * (1 - idle))} %`)
/** Two decimals below one hour, so that short sessions are not zero. */
const hours = (value: number) => value.toFixed(value < 1 ? 2 : 1)
export const reportTable = (items: UsageReport['items']) =>
  table(
    ['NAME', 'GPU-HOURS', 'GPU USED', 'WASTED', 'CORE-HOURS', 'CPU USED', 'GIB-HOURS', 'RAM USED', 'SESSIONS'],
    items.map(one => [
      one.name || '–',
      hours(one.gpuHours),
      part(one.gpuIdle),
      one.gpuWastedHours === null ? '–' : hours(one.gpuWastedHours),
      hours(one.cpuHours),
      part(one.cpuIdle),
      hours(one.memGibHours),
      part(one.memIdle),
      String(one.sessions),
    ]),
  )

const idleTable = (items: readonly IdleOwner[]) =>
  table(
    ['OWNER', 'SESSION', 'GPU', 'SINCE', 'GPU-HOURS'],
    items.flatMap(({ ownerEmail, sessions }) =>
      sessions.map(one => [ownerEmail, one.name, String(one.gpus), age(one.since), one.gpuHours.toFixed(1)]),
    ),
  )

function usageTable(items: readonly ScopeUsage[]): string {
  const hasModels = items.some(({ gpuLimits = [] }) => gpuLimits.length > 0)
  return table(
    [
      'WHOSE',
      'NAME',
      'POLICY',
      'SESSIONS',
      ...SLOT_NAMES.map(slot => SLOTS[slot].label),
      ...(hasModels ? ['GPU MODELS'] : []),
    ],
    items.map(one => [
      whoseText(one.kind),
      one.name,
      one.policy ?? '–',
      ofLimit(String(one.sessions), one.maxSessions === null ? undefined : String(one.maxSessions)),
      ...SLOT_NAMES.map(slot => ofLimit(shown(slot, one.held[slot] ?? '0'), shown(slot, one.limits[slot]))),
      ...(hasModels ? [modelsText(one)] : []),
    ]),
  )
}

/** `H100: 1.43 / 2`, for each model with a limit. */
const modelsText = ({ gpuLimits = [] }: ScopeUsage) =>
  gpuLimits.map(({ model, held, limit }) => `${model}: ${ofLimit(held, limit)}`).join(', ') || '∞'

const ofLimit = (held: string | undefined, limit: string | undefined) => `${held ?? '0'} / ${limit ?? '∞'}`

function shown(slot: (typeof SLOT_NAMES)[number], amount: string | undefined): string | undefined {
  return amount !== undefined && slot === 'mem' ? bytes(Number(amount)) : amount
}
