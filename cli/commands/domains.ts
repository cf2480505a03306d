import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type ApiClient, AppError, type Domain, type DomainChange } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, type Output, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { ALLOW_NAMES, DEFAULT_NAMES, networkBoundText, parseAllowedNames } from './allowed-names-flag.ts'
import { type GpuLimitFlag, gpuLimitsText, withGpuLimitOption, withGpuLimits } from './gpu-limit-flags.ts'
import { limitOf, namesSlots, type OrUnlimited, type SlotFlags, slotsOf, withSlots } from './limit-flags.ts'
import { type RemoveFlags, removedText } from './removed.ts'
import { limitsText } from './text.ts'

/** Keyword for all registries. */
const ALL = 'all'

interface DomainFlags extends SlotFlags {
  gpuLimit?: GpuLimitFlag[]
  description?: string
  registries?: string[] | typeof ALL
  allowNames?: OrUnlimited<string[]>
  defaultNames?: OrUnlimited<string[]>
  json?: boolean
}

/** `berth admin domain …`, for superadmins; the admin of a domain may list. */
export function addDomainCommands(program: Command): void {
  const admin = adminOf(program)
  const domain = admin.command('domain').description('Domains: groups of users with limits in common.')

  domain
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: DomainFlags) => {
      const { api } = await connect()
      const { items } = await api.listDomains()
      createOutput(json).data(items, () => domainTable(items))
    })

  withSettings(domain.command('create <name>').description('Create a domain, with a project named default.')).action(
    async (name: string, { json = false, ...flags }: DomainFlags) => {
      const { api } = await connect()
      const created = await api.createDomain({ body: { name, ...changeOf(flags) } })
      const output = createOutput(json)
      output.data(created, () => domainTable([created]))
      await warnOfUnknown(api, flags.registries, output)
    },
  )

  withSettings(
    domain.command('update <name>').description('Change a domain. Settings that you leave out stay.'),
  ).action(async (name: string, { json = false, ...flags }: DomainFlags) => {
    const { api } = await connect()
    const before = namesSlots(flags) || flags.gpuLimit ? await findDomain(api, name) : undefined
    const changed = await api.updateDomain({ params: { name }, body: changeOf(flags, before) })
    const output = createOutput(json)
    output.data(changed, () => domainTable([changed]))
    await warnOfUnknown(api, flags.registries, output)
  })

  for (const active of [true, false]) {
    domain
      .command(`${active ? 'activate' : 'deactivate'} <name>`)
      .description(
        active
          ? 'Let the users of a domain sign in again.'
          : 'Keep the users of a domain from signing in and launching. Sign-ins end at once.',
      )
      .option('--json', 'print JSON')
      .action(async (name: string, { json = false }: DomainFlags) => {
        const { api } = await connect()
        const changed = await api.updateDomain({ params: { name }, body: { active } })
        createOutput(json).data(changed, () => domainTable([changed]))
      })
  }

  domain
    .command('rm <name>')
    .description('Delete a domain that has no users, no sessions, and no projects besides "default".')
    .option('--purge', 'also delete open invitations and the records of ended sessions; the domain must be inactive')
    .option('--json', 'print JSON')
    .action(async (name: string, { json = false, purge = false }: RemoveFlags) => {
      const { api } = await connect()
      const removed = await api.deleteDomain({ params: { name }, query: purge ? { purge: 'true' } : {} })
      createOutput(json).data(removed, () => removedText(removed))
    })
}

function withSettings(command: Command): Command {
  return withGpuLimitOption(withSlots(command, true))
    .option('--description <text>', 'what the domain is for')
    .option(
      '--registries <hosts>',
      'registries whose images may be launched, separated by commas, or all; images saved from sessions keep the domains that they had then (admin image set-domains)',
      parseRegistries,
    )
    .option('--allow-names <list>', ALLOW_NAMES, parseAllowedNames)
    .option('--default-names <list>', DEFAULT_NAMES, parseAllowedNames)
    .option('--json', 'print JSON')
}

/** Keeps the keyword `all` until the request is made: commander replaces a null returned by a parser with an empty text. */
function parseRegistries(text: string): string[] | typeof ALL {
  return text === ALL ? text : text.split(',').filter(name => name !== '')
}

/** Warns, but does not fail: images already on agents may come from a registry that Berth does not know. */
async function warnOfUnknown(api: ApiClient, wanted: DomainFlags['registries'], output: Output): Promise<void> {
  if (wanted === undefined || wanted === ALL || wanted.length === 0) return
  const known = (await api.listRegistries()).items.map(registry => registry.name)
  const unknown = wanted.filter(name => !known.includes(name))
  if (unknown.length === 0) return
  const others = known.length === 0 ? 'No registry is known yet' : `Known registries: ${known.join(', ')}`
  output.note(`Warning: there is no registry ${unknown.map(name => `"${name}"`).join(', ')}. ${others}.`)
  output.note('Add one: berth admin registry add HOST')
}

function changeOf(
  { description, registries, gpuLimit, allowNames, defaultNames, ...flags }: DomainFlags,
  { limits: before, gpuLimits }: Pick<Domain, 'limits' | 'gpuLimits'> = { limits: {}, gpuLimits: [] },
): DomainChange {
  return {
    ...defined({ description }),
    ...(registries === undefined ? {} : { allowedRegistries: registries === ALL ? null : registries }),
    ...(allowNames === undefined ? {} : { allowedNames: limitOf(allowNames) }),
    ...(defaultNames === undefined ? {} : { defaultNames: limitOf(defaultNames) }),
    ...(namesSlots(flags) ? { limits: slotsOf(flags, before) } : {}),
    ...(gpuLimit ? { gpuLimits: withGpuLimits(gpuLimits, gpuLimit) } : {}),
  }
}

async function findDomain(api: ApiClient, name: string): Promise<Domain> {
  const domain = (await api.listDomains()).items.find(one => one.name === name)
  if (!domain) throw new AppError('domain_not_found', { name, why: `There is no domain "${name}".` })
  return domain
}

const domainTable = (items: readonly Domain[]) =>
  table(
    ['NAME', 'ACTIVE', 'LIMITS', 'REGISTRIES', 'NETWORK', 'DESCRIPTION'],
    items.map(one => [
      one.name,
      one.active ? 'yes' : 'no',
      [limitsText(one.limits), gpuLimitsText(one.gpuLimits)].filter(Boolean).join(', '),
      one.allowedRegistries?.join(', ') ?? 'all',
      networkBoundText(one),
      one.description,
    ]),
  )
