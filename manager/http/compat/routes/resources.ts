import { z } from 'zod'
import { parseAmount, type ScopeUsage, SLOT_NAMES, type WireSlots } from '#manager/contract'
import { tellSlots } from '../amounts.ts'
import { readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'

const Text = z.string().max(128)
const CheckInput = z.object({ group: Text.optional(), scaling_group: Text.optional() })

/** Sizes, limits and resource groups. */
export const RESOURCE_ROUTES: readonly CompatRoute[] = [
  // Names of kinds of resources, the same everywhere; some clients ask before they sign.
  { method: 'GET', path: '/config/resource-slots', open: true, handle: slotTypes },
  { method: 'GET', path: '/config/resource-slots/details', handle: slotDetails },
  { method: 'GET', path: '/config/vfolder-types', handle: () => Promise.resolve(['user', 'group']) },
  { method: 'GET', path: '/resource/presets', handle: presets },
  { method: 'POST', path: '/resource/check-presets', handle: checkPresets },
  { method: 'POST', path: '/resource/recalculate-usage', handle: recalculate },
  { method: 'GET', path: '/scaling-groups', handle: scalingGroups },
  {
    method: 'GET',
    path: '/scaling-groups/:group/wsproxy-version',
    handle: () => Promise.resolve({ wsproxy_version: 'v1' }),
  },
  { method: 'GET', path: '/template/session', handle: templates },
  { method: 'GET', path: '/logs/error', handle: () => Promise.resolve({ logs: [], count: 0 }) },
]

const isBytes = (name: string) => name === 'mem'
function slotTypes(): Promise<unknown> {
  return Promise.resolve(Object.fromEntries(SLOT_NAMES.map(name => [name, isBytes(name) ? 'bytes' : 'count'])))
}

function slotDetails(): Promise<unknown> {
  return Promise.resolve(
    Object.fromEntries(
      SLOT_NAMES.map(name => [
        name,
        { slot_name: name, human_readable_name: name, description: name, display_unit: isBytes(name) ? 'GiB' : '' },
      ]),
    ),
  )
}

const tellPreset = (preset: { name: string; slots: WireSlots; shmem: string | null; fits?: boolean | undefined }) => ({
  name: preset.name,
  resource_slots: tellSlots(preset.slots),
  shared_memory: preset.shmem === null ? null : String(parseAmount('mem', preset.shmem) ?? 0),
  ...(preset.fits === undefined ? {} : { allocatable: preset.fits }),
})

async function presets({ api }: CompatContext): Promise<unknown> {
  const { items } = await api.listPresets({ query: { fits: 'false' } })
  return { presets: items.map(tellPreset) }
}

/** Limits by scope, and which presets would start now. Missing amounts are without limit, which the original writes as `Infinity`. */
async function checkPresets({ api, request }: CompatContext): Promise<unknown> {
  const { group, scaling_group: resourceGroup = 'default' } = await readInput(request, CheckInput)
  const named = group === undefined || group === 'default' ? {} : { group }
  const [{ items }, usage, resources, groups] = await Promise.all([
    api.listPresets({ query: { resourceGroup, ...named } }),
    api.getUsage({ query: {} }),
    api.getResources({ query: { resourceGroup, ...named } }),
    api.listResourceGroups(),
  ])
  const scope = (kind: ScopeUsage['kind'], name?: string) =>
    usage.items.find(item => item.kind === kind && (name === undefined || item.name === name || item.id === name))
  const own = scope('user')
  const project = scope('group', group)
  const held = tellSlots(resources.occupied)
  return {
    ...tellScope('keypair', own),
    ...tellScope('group', project),
    scaling_group_remaining: tellSlots(resources.free),
    scaling_groups: Object.fromEntries(
      groups.items
        .filter(({ name }) => name === resourceGroup)
        .map(({ name }) => [name, { using: held, remaining: tellSlots(resources.free) }]),
    ) as unknown,
    presets: items.map(tellPreset),
  }
}

function tellScope(name: string, usage: ScopeUsage | undefined) {
  const amounts = (slots: WireSlots, missing: string) => ({
    ...Object.fromEntries(SLOT_NAMES.map(slot => [slot, missing])),
    ...tellSlots(slots),
  })
  return {
    [`${name}_limits`]: amounts(usage?.limits ?? {}, 'Infinity'),
    [`${name}_using`]: amounts(usage?.held ?? {}, '0'),
    [`${name}_remaining`]: amounts(usage?.left ?? {}, 'Infinity'),
  }
}

async function recalculate({ api }: CompatContext): Promise<unknown> {
  await api.recalculateUsage()
  return {}
}

async function scalingGroups({ api }: CompatContext): Promise<unknown> {
  const { items } = await api.listResourceGroups()
  return { scaling_groups: items.filter(({ active }) => active).map(({ name }) => ({ name })) }
}

async function templates({ api }: CompatContext): Promise<unknown> {
  const [{ items }, { user }] = await Promise.all([api.listSessionTemplates(), api.me()])
  return items.map(template => ({
    name: template.name,
    id: template.name,
    created_at: null,
    is_owner: true,
    user: user.id,
    group: null,
    user_email: user.email,
    group_name: null,
    domain_name: user.domain,
    type: 'user',
    template: { metadata: { name: template.name } },
  }))
}
