import { type Command, InvalidArgumentError, Option } from 'commander'
import { defined } from '#base/defined'
import {
  ENGINES,
  type AccessMatrix,
  type ApiClient,
  AppError,
  type FairShare,
  type ResourceGroup,
  type ResourceGroupAccess,
  type ResourceGroupAccessChange,
  type ResourceGroupChange,
  ResourceGroupOptions,
  SELECTORS,
  SEQUENCERS,
  SLOTS,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { findGroup, findUserId } from './find-user.ts'
import { type SlurmFlags, slurmSettingsOf, withSlurmSettings } from './slurm-flags.ts'
import { whoseText } from './text.ts'
import { collectProjectWeight, collectWeight, optionsOf, type TypedWeight, withWeights } from './weights.ts'

function sharesTable({ items }: FairShare): string {
  const percent = (fraction: number) => `${Number((fraction * 100).toFixed(1))}%`
  const hasProjects = items.some(({ project }) => project !== null)
  return table(
    ['TURN', 'USER', ...(hasProjects ? ['PROJECT', 'ITS SHARE'] : []), 'SHARE', 'COUNTS', 'WEIGHT', 'WAITING', 'NEXT'],
    items.map(({ turn, email, project, share, dominant, fraction, weight, waiting, next }) => [
      turn === null ? '-' : String(turn),
      email,
      ...(hasProjects ? [project?.name || '-', project ? percent(project.share) : '-'] : []),
      percent(share),
      dominant === null ? '-' : `${percent(fraction)} of ${SLOTS[dominant].label}`,
      String(weight),
      String(waiting),
      next?.name ?? '-',
    ]),
  )
}

interface GroupFlags extends SlurmFlags {
  description?: string
  engine?: ResourceGroup['engine']
  sequencer?: ResourceGroup['sequencer']
  selector?: ResourceGroup['selector']
  options?: ResourceGroupOptions
  weight?: readonly TypedWeight[]
  projectWeight?: readonly TypedWeight[]
  active?: boolean
  json?: boolean
}

interface AccessFlags {
  domain?: string
  project?: string
  user?: string
  json?: boolean
}

/** Adds `berth admin resource-group …`, for superadmins, and `berth resource-group ls` for all users. */
export function addResourceGroupCommands(program: Command): void {
  const own = program.command('resource-group').description('Resource groups: the hosts to choose from.')
  addList(own.command('ls').description('List the resource groups that you may use.'))
  const admin = adminOf(program)
  const group = admin.command('resource-group').description('Resource groups: agents that share one queue.')

  addList(group.command('ls'))

  withSettings(
    group
      .command('create <name>')
      .description('Make a resource group. Agents join it with a join string of the group.'),
  )
    .option('--inactive', 'closed at first')
    .option(
      '--domains <list>',
      'domains that may use the group, separated by commas, or none (default: your own)',
      parseDomains,
    )
    .action(async (name: string, { json = false, inactive, domains, ...flags }: GroupFlags & CreateFlags) => {
      const { api } = await connect()
      const change = await changeOf(api, flags, () => Promise.resolve({}))
      const created = await api.createResourceGroup({
        body: { name, ...change, active: !inactive, ...defined({ domains }) },
      })
      createOutput(json).data(created, () => groupTable([created]))
    })

  withSettings(group.command('update <name>').description('Change a resource group. Settings that you leave out stay.'))
    .option('--active', 'open the group')
    .option('--no-active', 'close the group: no session starts in it, and none can be launched')
    .option('--notice <text>', 'text for users while the group is closed: why, and for how long')
    .action(async (name: string, { json = false, active, notice, ...flags }: GroupFlags & { notice?: string }) => {
      const { api } = await connect()
      const body = {
        ...(await changeOf(api, flags, () => optionsOf(api, name))),
        ...defined({ active, notice }),
      }
      const changed = await api.updateResourceGroup({ params: { name }, body })
      createOutput(json).data(changed, () => groupTable([changed]))
    })

  group
    .command('shares <name>')
    .description('Show what DRF compares: who holds what share of a group, and whose session is next.')
    .option('--json', 'print JSON')
    .action(async (name: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const shares = await api.getFairShare({ params: { name } })
      createOutput(json).data(shares, () => sharesTable(shares))
    })

  group
    .command('rm <name>')
    .description('Delete a resource group that has no agents and no live sessions.')
    .action(async (name: string) => {
      const { api } = await connect()
      await api.deleteResourceGroup({ params: { name } })
      createOutput(false).note(`Deleted ${name}.`)
    })

  group
    .command('access [name]')
    .description('Show who may use a resource group, or all of them. Superadmins always may.')
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, { json = false }: AccessFlags) => {
      const { api } = await connect()
      if (name === undefined) {
        const { grants } = await api.getAccessMatrix()
        createOutput(json).data(grants, () => grantsTable(grants))
        return
      }
      const { items } = await api.listResourceGroupAccess({ params: { name } })
      createOutput(json).data(items, () => accessTable(items))
    })

  withHolder(
    group.command('grant <name>').description('Allow a domain, a project or a user to use a resource group.'),
  ).action(async (name: string, { json = false, ...flags }: AccessFlags) => {
    const { api } = await connect()
    const { items } = await api.grantResourceGroupAccess({ params: { name }, body: await holderOf(api, flags) })
    createOutput(json).data(items, () => accessTable(items))
  })

  withHolder(
    group
      .command('withdraw <name>')
      .description('Withdraw the access. Running sessions continue; waiting ones keep waiting.'),
  ).action(async (name: string, flags: AccessFlags) => {
    const { api } = await connect()
    await api.withdrawResourceGroupAccess({ params: { name }, query: await holderOf(api, flags) })
  })
}

interface CreateFlags {
  inactive?: boolean
  domains?: string[]
}

const parseDomains = (text: string) => (text === 'none' ? [] : text.split(',').filter(name => name !== ''))

function addList(command: Command): void {
  command.option('--json', 'print JSON').action(async ({ json = false }: GroupFlags) => {
    const { api } = await connect()
    const { items } = await api.listResourceGroups()
    createOutput(json).data(items, () => groupTable(items))
  })
}

function withHolder(command: Command): Command {
  return command
    .option('--domain <name>', 'everyone in the domain')
    .option('--project <project>', 'sessions of the project (name, domain/name or id)')
    .option('--user <user>', 'one user (e-mail address or id)')
    .option('--json', 'print JSON')
}

async function holderOf(api: ApiClient, { domain, project, user }: AccessFlags): Promise<ResourceGroupAccessChange> {
  if ([domain, project, user].filter(holder => holder !== undefined).length !== 1) {
    throw new AppError('bad_request', { why: 'Give --domain, --project or --user.' })
  }
  return {
    ...defined({ domain }),
    ...(project === undefined ? {} : { groupId: (await findGroup(api, project)).id }),
    ...(user === undefined ? {} : { userId: await findUserId(api, user) }),
  }
}

const accessTable = (items: readonly ResourceGroupAccess[]) =>
  table(
    ['WHO', 'NAME', 'ID'],
    items.map(one => [whoseText(one.kind), one.name, one.id]),
  )

const grantsTable = (grants: AccessMatrix['grants']) =>
  table(
    ['RESOURCE GROUP', 'WHO', 'NAME', 'ID'],
    grants.map(one => [one.resourceGroup, whoseText(one.kind), one.name, one.id]),
  )

function withSettings(command: Command): Command {
  command
    .option('--description <text>', 'what the group is for')
    .addOption(new Option('--engine <name>', 'what allocates resources for sessions').choices(ENGINES))
  return withSlurmSettings(command)
    .addOption(new Option('--sequencer <name>', 'which session starts next').choices(SEQUENCERS))
    .addOption(new Option('--selector <name>', 'which agent gets a session').choices(SELECTORS))
    .option(
      '--options <json>',
      'reserveAfterSeconds, weights, projectWeights, splitShares, spreadClusters, requireIsolation, interruption, slurm',
      parseOptions,
    )
    .option(
      '--weight <user=factor>',
      'fair share: how much of the group a user may hold compared with others, e.g. ada@example.org=2; 1 removes it; repeatable',
      collectWeight,
    )
    .option(
      '--project-weight <project=factor>',
      'fair share: the same of a project, e.g. speech=2; projects share the group first, then the users of each; repeatable',
      collectProjectWeight,
    )
    .option('--json', 'print JSON')
}

/** @param present the options of the group, to which weights are added where no options are given */
async function changeOf(
  api: ApiClient,
  { description, engine, sequencer, selector, options, weight, projectWeight, ...flags }: GroupFlags,
  present: () => Promise<ResourceGroupOptions>,
): Promise<ResourceGroupChange> {
  const typed = { users: weight ?? [], projects: projectWeight ?? [] }
  const isWeighed = weight !== undefined || projectWeight !== undefined
  const weighed = isWeighed ? await withWeights(api, options ?? (await present()), typed) : options
  const slurm = await slurmSettingsOf(api, flags, async () => (weighed ?? (await present())).slurm)
  const changed = slurm ? { ...(weighed ?? (await present())), slurm } : weighed
  return defined({ description, engine, sequencer, selector, options: changed })
}

function parseOptions(text: string): ResourceGroupOptions {
  const example = 'e.g. {"reserveAfterSeconds":600,"splitShares":true}; weights by name: --weight, --project-weight'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidArgumentError(`The value is not JSON (${example}).`)
  }
  const parsed = ResourceGroupOptions.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.')
  throw new InvalidArgumentError(`${where ? `${where}: ` : ''}${issue?.message ?? 'not valid'} (${example}).`)
}

const groupTable = (items: readonly ResourceGroup[]) =>
  table(
    ['NAME', 'ACTIVE', 'ENGINE', 'SEQUENCER', 'SELECTOR', 'OPTIONS', 'DESCRIPTION'],
    items.map(one => [
      one.name,
      one.active ? 'yes' : 'no',
      one.engine,
      one.sequencer,
      one.selector,
      JSON.stringify(one.options),
      one.description,
    ]),
  )
