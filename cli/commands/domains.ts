import { type Command } from 'commander'
import { type ApiClient, AppError, type Domain, type DomainChange, type WireSlots } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { namesSlots, type SlotFlags, slotsOf, withSlots } from './limit-flags.ts'
import { limitsText } from './text.ts'

interface DomainFlags extends SlotFlags {
  description?: string
  registries?: string[] | null
  json?: boolean
}

/** `berth admin domain …`, for superadmins; the admin of a domain may list. */
export function addDomainCommands(program: Command): void {
  const admin = adminOf(program)
  const domain = admin.command('domain').description('Domains: who belongs together, and what they may hold in all.')

  domain
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: DomainFlags) => {
      const { api } = await connect()
      const { items } = await api.listDomains()
      createOutput(json).data(items, () => domainTable(items))
    })

  withSettings(domain.command('create <name>').description('With a project named default.')).action(
    async (name: string, { json = false, ...flags }: DomainFlags) => {
      const { api } = await connect()
      const created = await api.createDomain({ body: { name, ...changeOf(flags) } })
      createOutput(json).data(created, () => domainTable([created]))
    },
  )

  withSettings(domain.command('update <name>').description('What is left out stays.')).action(
    async (name: string, { json = false, ...flags }: DomainFlags) => {
      const { api } = await connect()
      const before = namesSlots(flags) ? (await findDomain(api, name)).limits : {}
      const changed = await api.updateDomain({ params: { name }, body: changeOf(flags, before) })
      createOutput(json).data(changed, () => domainTable([changed]))
    },
  )

  for (const active of [true, false]) {
    domain
      .command(`${active ? 'activate' : 'deactivate'} <name>`)
      .description(active ? 'Let its users in again.' : 'Nobody of it signs in or launches; sign-ins end at once.')
      .option('--json', 'print JSON')
      .action(async (name: string, { json = false }: DomainFlags) => {
        const { api } = await connect()
        const changed = await api.updateDomain({ params: { name }, body: { active } })
        createOutput(json).data(changed, () => domainTable([changed]))
      })
  }
}

function withSettings(command: Command): Command {
  return withSlots(command, true)
    .option('--description <text>', 'what it is for')
    .option('--registries <hosts>', 'comma list of registries whose images may be launched, or all', parseRegistries)
    .option('--json', 'print JSON')
}

function parseRegistries(text: string): string[] | null {
  return text === 'all' ? null : text.split(',').filter(name => name !== '')
}

function changeOf({ description, registries, ...flags }: DomainFlags, before: WireSlots = {}): DomainChange {
  return {
    ...(description === undefined ? {} : { description }),
    ...(registries === undefined ? {} : { allowedRegistries: registries }),
    ...(namesSlots(flags) ? { limits: slotsOf(flags, before) } : {}),
  }
}

async function findDomain(api: ApiClient, name: string): Promise<Domain> {
  const domain = (await api.listDomains()).items.find(one => one.name === name)
  if (!domain) throw new AppError('domain_not_found', { name, why: `There is no domain "${name}".` })
  return domain
}

const domainTable = (items: readonly Domain[]) =>
  table(
    ['NAME', 'ACTIVE', 'LIMITS', 'REGISTRIES', 'DESCRIPTION'],
    items.map(one => [
      one.name,
      one.active ? 'yes' : 'no',
      limitsText(one.limits),
      one.allowedRegistries?.join(', ') ?? 'all',
      one.description,
    ]),
  )
