import { type Command } from 'commander'
import { type Complete, defined } from '#base/defined'
import { durationText } from '#base/duration'
import {
  type ApiClient,
  AppError,
  type PolicyHolder,
  type ResourcePolicy,
  type ResourcePolicyChange,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { ALLOW_NAMES, DEFAULT_NAMES, networkBoundText, parseAllowedNames } from './allowed-names-flag.ts'
import { durationOption } from './duration.ts'
import { findUserId } from './find-user.ts'
import { type GpuLimitFlag, gpuLimitsText, withGpuLimitOption, withGpuLimits } from './gpu-limit-flags.ts'
import {
  limitOf,
  namesSlots,
  type OrUnlimited,
  parseFileLimit,
  parseLimit,
  parseSizeLimit,
  type SlotFlags,
  slotsOf,
  UNLIMITED,
  withSlots,
} from './limit-flags.ts'
import { amounts, bytes } from './text.ts'

interface PolicyFlags extends SlotFlags {
  gpuLimit?: GpuLimitFlag[]
  sessions?: OrUnlimited<number>
  containers?: OrUnlimited<number>
  idleTimeout?: OrUnlimited<number>
  maxLifetime?: OrUnlimited<number>
  storageHosts?: OrUnlimited<string[]>
  allowNames?: OrUnlimited<string[]>
  defaultNames?: OrUnlimited<string[]>
  folders?: OrUnlimited<number>
  folderSize?: OrUnlimited<number>
  folderFiles?: OrUnlimited<number>
  json?: boolean
}

/** `berth admin policy …`. Limits of users and keypairs under a name; everything not named is unlimited. */
export function addPolicyCommands(program: Command): void {
  const admin = adminOf(program)
  const policy = admin.command('policy').description('Resource policies: limits of users and keypairs.')

  policy
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: PolicyFlags) => {
      const { api } = await connect()
      const { items } = await api.listResourcePolicies()
      createOutput(json).data(items, () => policyTable(items))
    })

  withSettings(
    policy.command('create <name>').description('Create a resource policy. Limits that you leave out are unlimited.'),
  ).action(async (name: string, { json = false, ...flags }: PolicyFlags) => {
    const { api } = await connect()
    const created = await api.createResourcePolicy({ body: { name, ...changeOf(flags, NOTHING) } })
    createOutput(json).data(created, () => policyTable([created]))
  })

  withSettings(
    policy.command('update <name>').description('Change a resource policy. Limits that you leave out stay.'),
  ).action(async (name: string, { json = false, ...flags }: PolicyFlags) => {
    const { api } = await connect()
    const before = namesSlots(flags) || flags.gpuLimit ? await find(api, name) : NOTHING
    const body = changeOf(flags, before)
    const changed = await api.updateResourcePolicy({ params: { name }, body })
    createOutput(json).data(changed, () => policyTable([changed]))
  })

  policy
    .command('assign <name>')
    .description('Assign a policy to a user or to a keypair.')
    .option('--user <user>', 'user, by e-mail address or id; the limits hold for all of their sessions together')
    .option('--keypair <access-key>', 'keypair; the limits hold for the sessions launched with it')
    .action(async (name: string, { user, keypair }: { user?: string; keypair?: string }) => {
      if ((user === undefined) === (keypair === undefined)) {
        throw new AppError('bad_request', { why: 'Give --user or --keypair.' })
      }
      const { api } = await connect()
      const body: PolicyHolder = {
        ...(user === undefined ? {} : { userId: await findUserId(api, user) }),
        ...defined({ accessKey: keypair }),
      }
      await api.assignResourcePolicy({ params: { name }, body })
    })

  policy
    .command('rm <name>')
    .description('Delete a policy. A policy that a user or keypair has cannot be deleted.')
    .action(async (name: string) => {
      const { api } = await connect()
      await api.deleteResourcePolicy({ params: { name } })
    })
}

function withSettings(command: Command): Command {
  return withGpuLimitOption(withSlots(command, true))
    .option('--sessions <n>', `at the same time, or ${UNLIMITED}`, parseLimit)
    .option('--containers <n>', `in one session, or ${UNLIMITED}`, parseLimit)
    .option('--idle-timeout <time>', `end idle sessions after this time, e.g. 90m; 0 or ${UNLIMITED}`, parseTime)
    .option('--max-lifetime <time>', `of a session, e.g. 8h; 0 or ${UNLIMITED}`, parseTime)
    .option('--storage-hosts <list>', `names separated by commas, or ${UNLIMITED}`, parseHosts)
    .option('--allow-names <list>', ALLOW_NAMES, parseAllowedNames)
    .option('--default-names <list>', DEFAULT_NAMES, parseAllowedNames)
    .option('--folder-size <size>', `of all own folders together, e.g. 500g, or ${UNLIMITED}`, parseSizeLimit)
    .option(
      '--folder-files <n>',
      `files, directories and links in all own folders together, or ${UNLIMITED}`,
      parseFileLimit,
    )
    .option('--folders <n>', `or ${UNLIMITED}`, parseLimit)
    .option('--json', 'print JSON')
}

/** Parses a time, e.g. `90m`, to seconds; both `0` and `unlimited` mean no limit. */
const parseTime = (text: string) => (text === UNLIMITED || text === '0' ? UNLIMITED : durationOption(text))

const parseHosts = (text: string) => (text === UNLIMITED ? text : text.split(',').filter(host => host !== ''))

/** Limits of a policy that does not exist yet. */
const NOTHING = { limits: {}, gpuLimits: [] }

function changeOf(flags: PolicyFlags, before: Pick<ResourcePolicy, 'limits' | 'gpuLimits'>): ResourcePolicyChange {
  const { sessions, containers, idleTimeout, maxLifetime, storageHosts, allowNames, defaultNames } = flags
  const { folders, folderSize, folderFiles } = flags
  const change: Complete<ResourcePolicyChange> = {
    limits: namesSlots(flags) ? slotsOf(flags, before.limits) : undefined,
    gpuLimits: flags.gpuLimit && withGpuLimits(before.gpuLimits, flags.gpuLimit),
    maxConcurrentSessions: sessions && limitOf(sessions),
    maxContainersPerSession: containers && limitOf(containers),
    idleTimeoutSeconds: idleTimeout && limitOf(idleTimeout),
    maxLifetimeSeconds: maxLifetime && limitOf(maxLifetime),
    allowedStorageHosts: storageHosts && limitOf(storageHosts),
    allowedNames: allowNames && limitOf(allowNames),
    defaultNames: defaultNames && limitOf(defaultNames),
    maxFolderBytes: folderSize && limitOf(folderSize),
    maxFolderFiles: folderFiles && limitOf(folderFiles),
    maxFolders: folders && limitOf(folders),
  }
  return defined(change)
}

async function find(api: ApiClient, name: string): Promise<ResourcePolicy> {
  const { items } = await api.listResourcePolicies()
  const found = items.find(policy => policy.name === name)
  if (!found) throw new AppError('resource_policy_not_found', { name, why: `There is no resource policy "${name}".` })
  return found
}

const orAny = (value: number | null) => (value === null ? '∞' : String(value))
const seconds = (value: number | null) => (value === null ? '∞' : durationText(value))

function policyTable(items: readonly ResourcePolicy[]): string {
  const hasModels = items.some(({ gpuLimits }) => gpuLimits.length > 0)
  return table(
    [
      'NAME',
      'RESOURCES',
      ...(hasModels ? ['GPU MODELS'] : []),
      'SESSIONS',
      'CONTAINERS',
      'IDLE',
      'LIFETIME',
      'FOLDERS',
      'SIZE',
      'FILES',
      'HOSTS',
      'NETWORK',
      'USERS',
      'KEYPAIRS',
    ],
    items.map(one => [
      one.name,
      Object.keys(one.limits).length === 0 ? '∞' : amounts(one.limits),
      ...(hasModels ? [gpuLimitsText(one.gpuLimits) || '∞'] : []),
      orAny(one.maxConcurrentSessions),
      orAny(one.maxContainersPerSession),
      seconds(one.idleTimeoutSeconds),
      seconds(one.maxLifetimeSeconds),
      orAny(one.maxFolders),
      one.maxFolderBytes === null ? '∞' : bytes(one.maxFolderBytes),
      orAny(one.maxFolderFiles),
      one.allowedStorageHosts?.join(',') ?? '∞',
      networkBoundText(one),
      String(one.users),
      String(one.keypairs),
    ]),
  )
}
