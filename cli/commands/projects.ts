import { type Command } from 'commander'
import { type Complete, defined } from '#base/defined'
import {
  type Group,
  type GroupChange,
  perProjectLimit,
  PROJECT_LIMIT_NAMES,
  type ProjectLimit,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { findGroup, findUserId } from './find-user.ts'
import { type GpuLimitFlag, gpuLimitsText, withGpuLimitOption, withGpuLimits } from './gpu-limit-flags.ts'
import {
  limitOf,
  namesSlots,
  type OrUnlimited,
  parseFileLimit,
  parseSizeLimit,
  type SlotFlags,
  slotsOf,
  UNLIMITED,
  withSlots,
} from './limit-flags.ts'
import { type RemoveFlags, removedText } from './removed.ts'
import { bytes, limitsText } from './text.ts'

interface NumberFlags {
  folderSize?: OrUnlimited<number>
  folderFiles?: OrUnlimited<number>
}

interface ProjectFlags extends SlotFlags, NumberFlags {
  gpuLimit?: GpuLimitFlag[]
  domain?: string
  name?: string
  description?: string
  mine?: boolean
  search?: string
  json?: boolean
}

interface NumberOption {
  readonly flag: keyof NumberFlags
  readonly option: string
  readonly about: string
  readonly parse: (text: string) => OrUnlimited<number>
  /** Column of the table. */
  readonly heading: string
  readonly text: (limit: number) => string
}

/** Options and columns of the limits that are one number. */
const NUMBER_OPTIONS: Readonly<Record<ProjectLimit, NumberOption>> = {
  maxFolderBytes: {
    flag: 'folderSize',
    option: '--folder-size <size>',
    about: 'of all folders of the project together, e.g. 500g',
    parse: parseSizeLimit,
    heading: 'FOLDERS UP TO',
    text: bytes,
  },
  maxFolderFiles: {
    flag: 'folderFiles',
    option: '--folder-files <n>',
    about: 'files, directories and links in all folders of the project together',
    parse: parseFileLimit,
    heading: 'FILES',
    text: String,
  },
}

/** `berth admin project …`, for superadmins and the admins of a domain. */
export function addProjectCommands(program: Command): void {
  const admin = adminOf(program)
  const project = admin.command('project').description('Projects: users of a domain who share limits.')

  project
    .command('ls')
    .option('--domain <name>', 'only projects of this domain')
    .option('--mine', 'only projects that you are a member of')
    .option('--search <text>', 'only projects with this text in domain/name, description or id')
    .option('--json', 'print JSON')
    .action(async ({ json = false, mine = false, domain, search }: ProjectFlags) => {
      const { api } = await connect()
      const { items } = await api.listGroups({ query: { domain, search, ...(mine ? { mine: 'true' } : {}) } })
      createOutput(json).data(items, () => projectTable(items))
    })

  withSettings(project.command('create <name>').description('Make a project.'))
    .option('--domain <name>', 'domain of the project (default: your own)')
    .action(async (name: string, { json = false, domain, ...flags }: ProjectFlags) => {
      const { api } = await connect()
      const body = { ...changeOf(flags), name, ...defined({ domain }) }
      const created = await api.createGroup({ body })
      createOutput(json).data(created, () => projectTable([created]))
    })

  withSettings(
    project
      .command('update <project>')
      .description('Change a project, given by name, domain/name or id. Settings that you leave out stay.'),
  )
    .option('--name <name>', 'a new name')
    .action(async (reference: string, { json = false, ...flags }: ProjectFlags) => {
      const { api } = await connect()
      const before = await findGroup(api, reference)
      const changed = await api.updateGroup({ params: { id: before.id }, body: changeOf(flags, before) })
      createOutput(json).data(changed, () => projectTable([changed]))
    })

  for (const active of [true, false]) {
    project
      .command(`${active ? 'activate' : 'deactivate'} <project>`)
      .description(
        active
          ? 'Allow new sessions in a project again.'
          : 'Allow no new sessions in a project. Running sessions continue.',
      )
      .option('--json', 'print JSON')
      .action(async (reference: string, { json = false }: ProjectFlags) => {
        const { api } = await connect()
        const { id } = await findGroup(api, reference)
        const changed = await api.updateGroup({ params: { id }, body: { active } })
        createOutput(json).data(changed, () => projectTable([changed]))
      })
  }

  project
    .command('rm <project>')
    .description('Delete a project that has no members and no sessions.')
    .option('--purge', 'also remove its members and the records of ended sessions; the project must be inactive')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false, purge = false }: RemoveFlags) => {
      const { api } = await connect()
      const { id } = await findGroup(api, reference)
      const removed = await api.deleteGroup({ params: { id }, query: purge ? { purge: 'true' } : {} })
      createOutput(json).data(removed, () => removedText(removed))
    })

  addMemberCommands(project)
}

function addMemberCommands(project: Command): void {
  const members = project.command('members').description('Members of a project.')

  members
    .command('add <project> <user...>')
    .description('Add users, given by e-mail address or id.')
    .action(async (reference: string, users: string[]) => {
      const { api } = await connect()
      const { id } = await findGroup(api, reference)
      for (const user of users) await api.addGroupMember({ params: { id, userId: await findUserId(api, user) } })
    })

  members
    .command('rm <project> <user...>')
    .description('Remove users from a project. Their running sessions continue.')
    .action(async (reference: string, users: string[]) => {
      const { api } = await connect()
      const { id } = await findGroup(api, reference)
      for (const user of users) await api.removeGroupMember({ params: { id, userId: await findUserId(api, user) } })
    })
}

function withSettings(command: Command): Command {
  withGpuLimitOption(withSlots(command, true)).option('--description <text>', 'what the project is for')
  for (const { option, about, parse } of Object.values(NUMBER_OPTIONS)) {
    command.option(option, `${about}, or ${UNLIMITED}`, parse)
  }
  return command.option('--json', 'print JSON')
}

function changeOf(
  { name, description, gpuLimit, ...flags }: ProjectFlags,
  { limits: before, gpuLimits }: Pick<Group, 'limits' | 'gpuLimits'> = { limits: {}, gpuLimits: [] },
): GroupChange {
  const change: Complete<GroupChange> = {
    name,
    description,
    ...perProjectLimit(limit => {
      const value = flags[NUMBER_OPTIONS[limit].flag]
      return value && limitOf(value)
    }),
    limits: namesSlots(flags) ? slotsOf(flags, before) : undefined,
    gpuLimits: gpuLimit && withGpuLimits(gpuLimits, gpuLimit),
    // `activate` and `deactivate` set it.
    active: undefined,
  }
  return defined(change)
}

const projectTable = (items: readonly Group[]) =>
  table(
    [
      'DOMAIN',
      'NAME',
      'ACTIVE',
      'MEMBERS',
      'LIMITS',
      ...PROJECT_LIMIT_NAMES.map(limit => NUMBER_OPTIONS[limit].heading),
      'DESCRIPTION',
      'ID',
    ],
    items.map(one => [
      one.domain,
      one.name,
      one.active ? 'yes' : 'no',
      String(one.members),
      limitsOf(one),
      ...PROJECT_LIMIT_NAMES.map(limit => numberText(limit, one[limit])),
      one.description,
      one.id,
    ]),
  )

const numberText = (limit: ProjectLimit, value: number | null) =>
  value === null ? '∞' : NUMBER_OPTIONS[limit].text(value)

/** Limits on amounts and on models: `16 CPU, H100=2`. */
function limitsOf({ limits, gpuLimits }: Group): string {
  const models = gpuLimitsText(gpuLimits)
  if (models === '') return limitsText(limits)
  return Object.keys(limits).length === 0 ? models : `${limitsText(limits)}, ${models}`
}
