import { parseSlots, SLOT_NAMES, type ResourceSlots, type ScopeUsage, type SlotName } from '#manager/contract'
import { formatBytes, formatCores, formatNumber } from '../../ui/format.ts'
import { t } from '../../words/en/usage.ts'

/** A bar: the amount held and its limit. */
export interface Meter {
  readonly key: string
  readonly label: string
  /** `1.5 / 4`, or `1.5` without a limit. */
  readonly text: string
  /** Null if there is no limit to compare with. */
  readonly fraction: number | null
}
/** A meter of the signed-in person. */
export interface OwnMeter extends Meter {
  /** Sentence with the figures of the meter, of the chosen project, and of the chosen resource group or the whole cluster. */
  readonly hint: string
}

export const SLOT_LABEL: Readonly<Record<SlotName, string>> = {
  cpu: 'CPU',
  mem: 'RAM',
  'cuda.device': 'GPU',
  'cuda.shares': 'fGPU',
}

export function slotAmount(slot: SlotName, value: number): string {
  if (slot === 'mem') return formatBytes(value)
  if (slot === 'cpu') return formatCores(value)
  return formatNumber(slot === 'cuda.shares' ? value / 100 : value)
}

/** `72 / 128 GiB`: writes the unit once if both amounts have the same. */
function ofTotal(held: string, total: string): string {
  const [amount = held, unit] = held.split(' ')
  return unit !== undefined && total.endsWith(` ${unit}`) ? `${amount} / ${total}` : `${held} / ${total}`
}

/** The slots worth showing: those of the cluster, of the limits, and of the amounts held. */
function slotsOf(capacity: ResourceSlots, ...others: readonly ResourceSlots[]): SlotName[] {
  return SLOT_NAMES.filter(slot => (capacity[slot] ?? 0) > 0 || others.some(slots => (slots[slot] ?? 0) > 0))
}

function meter(key: string, label: string, shown: (value: number) => string, held: number, limit?: number): Meter {
  if (limit === undefined) return { key, label, text: shown(held), fraction: null }
  // With a limit of 0 the bar is full only if something is held.
  const fraction = limit > 0 ? held / limit : held > 0 ? 1 : 0
  return { key, label, text: ofTotal(shown(held), shown(limit)), fraction }
}

/** The meters of one scope: its sessions, its slots, then the models of GPUs that have limits. */
export function scopeMeters(
  scope: Pick<ScopeUsage, 'held' | 'limits' | 'sessions' | 'maxSessions' | 'gpuLimits'>,
  capacity: ResourceSlots,
): Meter[] {
  const held = parseSlots(scope.held)
  const limits = parseSlots(scope.limits)
  return [
    meter('sessions', t('sessions'), value => formatNumber(value), scope.sessions, scope.maxSessions ?? undefined),
    ...slotsOf(capacity, held, limits).map(slot =>
      meter(slot, SLOT_LABEL[slot], value => slotAmount(slot, value), held[slot] ?? 0, limits[slot]),
    ),
    ...(scope.gpuLimits ?? []).map(({ model, ...gpus }) =>
      meter(`gpu ${model}`, model, value => formatNumber(value), Number(gpus.held), Number(gpus.limit)),
    ),
  ]
}

export function clusterMeters(capacity: ResourceSlots, occupied: ResourceSlots): Meter[] {
  return slotsOf(capacity).map(slot =>
    meter(slot, SLOT_LABEL[slot], value => slotAmount(slot, value), occupied[slot] ?? 0, capacity[slot] ?? 0),
  )
}

/** Capacity and use of all hosts, or of those of one resource group. */
export interface HostAmounts {
  readonly capacity: ResourceSlots
  readonly occupied: ResourceSlots
  /** Number of running sessions. */
  readonly sessions: number
  /** Name of the group, if these are its figures. */
  readonly resourceGroup?: string
}

/** The meters in the top bar: the person's own use of their limits. */
export function ownMeters(mine: ScopeUsage, hosts: HostAmounts, project?: ScopeUsage): OwnMeter[] {
  const { resourceGroup } = hosts
  const ofHosts = new Map(clusterMeters(hosts.capacity, hosts.occupied).map(each => [each.key, each.text]))
  const ofProject = new Map(
    project ? scopeMeters(project, hosts.capacity).map(each => [each.key, each.text] as const) : [],
  )
  return scopeMeters(mine, hosts.capacity).map(each => {
    const running = t('running', { count: hosts.sessions })
    const all = each.key === 'sessions' ? running : (ofHosts.get(each.key) ?? '–')
    const inProject = ofProject.get(each.key) ?? '–'
    const own = { label: each.label, amount: each.text }
    return {
      ...each,
      hint: [
        each.fraction === null ? t('holdUnlimited', own) : t('holdLimited', own),
        ...(project ? [t('inProject', { project: project.name, amount: inProject })] : []),
        resourceGroup === undefined
          ? t('together', { amount: all })
          : t('togetherInGroup', { group: resourceGroup, amount: all }),
      ].join(' '),
    }
  })
}
