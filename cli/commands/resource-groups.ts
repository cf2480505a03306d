import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type ResourceGroup,
  type ResourceGroupChange,
  ResourceGroupOptions,
  SELECTORS,
  SEQUENCERS,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'

interface GroupFlags {
  description?: string
  sequencer?: ResourceGroup['sequencer']
  selector?: ResourceGroup['selector']
  options?: ResourceGroupOptions
  active?: boolean
  json?: boolean
}

/** `berth admin resource-group …`, for superadmins. */
export function addResourceGroupCommands(program: Command): void {
  const admin = program.commands.find(command => command.name() === 'admin') ?? program.command('admin')
  const group = admin.command('resource-group').description('Agents that share one queue.')

  group
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: GroupFlags) => {
      const { api } = await connect()
      const { items } = await api.listResourceGroups()
      createOutput(json).data(items, () => groupTable(items))
    })

  withSettings(group.command('create <name>').description('Make a group; agents join it by a token of the group.'))
    .option('--inactive', 'closed at first')
    .action(async (name: string, { json = false, inactive, ...flags }: GroupFlags & { inactive?: boolean }) => {
      const { api } = await connect()
      const created = await api.createResourceGroup({ body: { name, ...changeOf(flags), active: !inactive } })
      createOutput(json).data(created, () => created.name)
    })

  withSettings(group.command('update <name>').description('Change settings; what is left out stays.'))
    .option('--active', 'open it')
    .option('--no-active', 'close it: nothing new, and nothing that waits is started')
    .action(async (name: string, { json = false, active, ...flags }: GroupFlags) => {
      const { api } = await connect()
      const body = { ...changeOf(flags), ...(active === undefined ? {} : { active }) }
      const changed = await api.updateResourceGroup({ params: { name }, body })
      createOutput(json).data(changed, () => groupTable([changed]))
    })
}

function withSettings(command: Command): Command {
  return command
    .option('--description <text>', 'what it is for')
    .addOption(new Option('--sequencer <name>', 'who is next').choices(SEQUENCERS))
    .addOption(new Option('--selector <name>', 'which agent').choices(SELECTORS))
    .option('--options <json>', 'reserveAfterSeconds, weights, splitShares', parseOptions)
    .option('--json', 'print JSON')
}

function changeOf({ description, sequencer, selector, options }: GroupFlags): ResourceGroupChange {
  return {
    ...(description === undefined ? {} : { description }),
    ...(sequencer === undefined ? {} : { sequencer }),
    ...(selector === undefined ? {} : { selector }),
    ...(options === undefined ? {} : { options }),
  }
}

function parseOptions(text: string): ResourceGroupOptions {
  try {
    return ResourceGroupOptions.parse(JSON.parse(text))
  } catch {
    throw new InvalidArgumentError('It must be JSON such as {"reserveAfterSeconds":600,"splitShares":true}.')
  }
}

const groupTable = (items: readonly ResourceGroup[]) =>
  table(
    ['NAME', 'ACTIVE', 'SEQUENCER', 'SELECTOR', 'OPTIONS', 'DESCRIPTION'],
    items.map(one => [
      one.name,
      one.active ? 'yes' : 'no',
      one.sequencer,
      one.selector,
      JSON.stringify(one.options),
      one.description,
    ]),
  )
