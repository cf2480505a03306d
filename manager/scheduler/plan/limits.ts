import {
  because,
  type Because,
  formatSlots,
  GPU_PARTS,
  inTurn,
  isOfModel,
  PARTS_OF_SHARE,
  type Reason,
  type ReasonCode,
  reasonOf,
  type ResourceSlots,
  type ScopeUsage,
  SLOT_NAMES,
  type SlotName,
  together,
} from '#manager/contract'
import { bare, readable, readableOf } from './amounts.ts'
import { DEVICE_SLOTS } from './device-slot.ts'
import { type GpuNeed } from './gpu-need.ts'
import {
  exclusionOf,
  type GivenDevice,
  type GpuDemand,
  type GpuExclusion,
  type HolderOfLimit,
  isExcluded,
  type KindOfDevice,
  modelLack,
  type ModelLimit,
  partsOfModel,
} from './model-limits.ts'

export type ScopeKind = ScopeUsage['kind']

/** A user, keypair, group or domain, with the limits on what its sessions hold together in all resource groups. */
export interface Scope {
  readonly kind: ScopeKind
  /** Display name: e-mail address, access key, name. */
  readonly name: string
  /** Resource policy of a user or keypair. */
  readonly policy: string | null
  /** A missing slot is unlimited. */
  readonly limits: ResourceSlots
  /** Limits on GPUs of single models; left out without any. */
  readonly models?: readonly ModelLimit[] | undefined
  /** Sessions that hold resources at the same time; null = any number. */
  readonly maxSessions: number | null
  /** Sum over kernels, computed by a query. */
  readonly held: ResourceSlots
  readonly sessions: number
}

/** The parts of a session that limits depend on. */
export interface LimitedSession {
  /** Amounts for each kernel. */
  readonly requested: ResourceSlots
  /** 1 if left out. */
  readonly clusterSize?: number | undefined
  /** Keys of the scopes that limit the session, in the order of SCOPE_KINDS. */
  readonly scopes?: readonly string[] | undefined
  /** False: neither the owner nor the group nor the domain has access to this resource group. */
  readonly groupAllowed?: boolean | undefined
  /** The deactivated domain, group or owner of the session, if any; such a session does not start. */
  readonly inactive?: Inactive | undefined
}

/** The GPUs that the session accepts, for the sentence about them. */
interface PendingGpu {
  readonly gpu?: GpuNeed | undefined
}

export type Inactive = Exclude<ScopeKind, 'keypair'>

interface Ledger {
  readonly scope: Scope
  readonly limited: readonly SlotName[]
  readonly held: Partial<Record<SlotName, number>>
  models: readonly ModelLimit[]
  sessions: number
}

/**
 * Remaining allowance of every scope while a plan is made or written; it only shrinks. A session over a limit takes nothing, so it does not
 * block others, and smaller ones behind it may still fit.
 */
export class Limits {
  readonly #ledgers: ReadonlyMap<string, Ledger>
  readonly #hasModels: boolean

  constructor(scopes: ReadonlyMap<string, Scope> = new Map()) {
    this.#ledgers = new Map(
      [...scopes].map(([key, scope]) => [
        key,
        {
          scope,
          limited: SLOT_NAMES.filter(slot => scope.limits[slot] !== undefined),
          held: { ...scope.held },
          models: scope.models ?? [],
          sessions: scope.sessions,
        },
      ]),
    )
    this.#hasModels = [...scopes.values()].some(({ models = [] }) => models.length > 0)
  }

  allows(session: LimitedSession): boolean {
    if (isShut(session)) return false
    for (const key of session.scopes ?? []) {
      const ledger = this.#ledgers.get(key)
      if (ledger && (isFull(ledger) || hasTooLittle(ledger, session))) return false
    }
    return true
  }

  /**
   * Devices that the session must not get, because a limit on their model would be exceeded. With any of the others it is within all limits
   * on models.
   */
  exclusions(session: LimitedSession): readonly GpuExclusion[] {
    if (!this.#hasModels) return []
    const demand = gpuDemandOf(session)
    if (demand.devices + demand.shares === 0) return []
    return this.#models(session).flatMap(({ limit }) => exclusionOf(limit, demand) ?? [])
  }

  /** Amounts of this slot for each kernel, smaller than the requested one, up to which a limit on a model excludes fewer devices. */
  lesserAmounts(session: LimitedSession, slot: SlotName): readonly number[] {
    if (slot !== 'cuda.device' && slot !== 'cuda.shares') return []
    const { clusterSize = 1 } = session
    const whole = session.requested[slot] ?? 0
    const amounts = this.#models(session).flatMap(({ limit: { limit, held } }) =>
      (slot === 'cuda.shares' ? [PARTS_OF_SHARE] : WEIGHTS).map(parts =>
        Math.floor(Math.max(0, limit - held) / parts / clusterSize),
      ),
    )
    return [...new Set(amounts)].filter(amount => amount > 0 && amount < whole)
  }

  /** Whether the session may have these devices. */
  allowsDevices(session: LimitedSession, devices: readonly GivenDevice[]): boolean {
    return this.#models(session).every(({ limit: { model, limit, held } }) => {
      const parts = partsOfModel(model, devices)
      return parts === 0 || held + parts <= limit
    })
  }

  /** The limits on models for the session, in order of its scopes. */
  #models({ scopes = [] }: LimitedSession): readonly { readonly scope: Scope; readonly limit: ModelLimit }[] {
    return scopes.flatMap(key => {
      const ledger = this.#ledgers.get(key)
      return ledger ? ledger.models.map(limit => ({ scope: ledger.scope, limit })) : []
    })
  }

  /** @param devices what the session gets, for the limits on models */
  take(session: LimitedSession, devices: readonly GivenDevice[] = []): void {
    for (const key of session.scopes ?? []) {
      const ledger = this.#ledgers.get(key)
      if (!ledger) continue
      if (ledger.models.length > 0)
        ledger.models = ledger.models.map(limit => ({
          ...limit,
          held: limit.held + partsOfModel(limit.model, devices),
        }))
      ledger.sessions++
      for (const slot of ledger.limited) ledger.held[slot] = (ledger.held[slot] ?? 0) + demandOf(session, slot)
    }
  }

  /**
   * First reason why the session may not start, in this order: deactivated, number of sessions, user, keypair, group,
   * domain, resource group.
   */
  explain(session: LimitedSession): Reason | undefined {
    if (session.inactive) return INACTIVE[session.inactive]
    const ledgers = (session.scopes ?? []).flatMap(key => this.#ledgers.get(key) ?? [])
    const full = ledgers.find(isFull)
    if (full) return concurrencyReason(full)
    const short = ledgers.find(ledger => hasTooLittle(ledger, session))
    if (short) return slotsReason(short, session)
    if (session.groupAllowed !== false) return undefined
    return {
      code: 'group_not_allowed',
      message: 'Access to this resource group was withdrawn. Ask an admin, or launch in another resource group.',
    }
  }

  /**
   * Why the session waits for GPUs of a model: the first limit that excludes one of these devices.
   *
   * @param devices those that the session would accept without limits
   */
  explainModels(session: LimitedSession & PendingGpu, devices: readonly KindOfDevice[]): Reason | undefined {
    const demand = gpuDemandOf(session)
    const found = this.#models(session).find(({ limit }) => {
      const exclusion = exclusionOf(limit, demand)
      return exclusion && devices.some(({ kind }) => kind && isExcluded(exclusion, kind))
    })
    return found && modelReason(found, session, devices)
  }

  /** Per limited slot, the amount that the scopes leave for each kernel of the session. Undefined: it may not start. */
  left(session: LimitedSession): ResourceSlots | undefined {
    if (isShut(session)) return undefined
    const left: Partial<Record<SlotName, number>> = {}
    for (const key of session.scopes ?? []) {
      const ledger = this.#ledgers.get(key)
      if (!ledger) continue
      if (isFull(ledger)) return undefined
      for (const slot of ledger.limited) {
        const rest = Math.max(0, (ledger.scope.limits[slot] ?? 0) - (ledger.held[slot] ?? 0))
        left[slot] = Math.min(left[slot] ?? Infinity, Math.floor(rest / (session.clusterSize ?? 1)))
      }
    }
    return left
  }
}

/** First limit that the session exceeds by itself, so that it could never start. */
export function neverAllowed(
  session: LimitedSession,
  scopes: readonly Scope[],
): { scope: Scope; slot: SlotName | null; needed: number; limit: number } | undefined {
  const none = scopes.find(({ maxSessions }) => maxSessions === 0)
  if (none) return { scope: none, slot: null, needed: 1, limit: 0 }
  for (const scope of scopes) {
    for (const slot of SLOT_NAMES) {
      const [needed, limit] = [demandOf(session, slot), scope.limits[slot]]
      if (limit !== undefined && needed > limit) return { scope, slot, needed, limit }
    }
  }
  return undefined
}

/**
 * The first limit on a model because of which the session could never start: with nothing held, limits on models exclude all devices that
 * it accepts.
 *
 * @param devices those that the session would accept without limits
 */
export function neverAllowedModel(
  session: LimitedSession,
  scopes: readonly Scope[],
  devices: readonly KindOfDevice[],
): { readonly scope: Scope; readonly limit: ModelLimit } | undefined {
  const demand = gpuDemandOf(session)
  if (devices.length === 0 || demand.devices + demand.shares === 0) return undefined
  const broken = scopes.flatMap(scope =>
    (scope.models ?? []).flatMap(limit => {
      const exclusion = exclusionOf({ ...limit, held: 0 }, demand)
      return exclusion ? [{ scope, limit, exclusion }] : []
    }),
  )
  const isOut = ({ kind }: KindOfDevice) =>
    kind !== undefined && broken.some(({ exclusion }) => isExcluded(exclusion, kind))
  if (!devices.every(isOut)) return undefined
  return broken.find(({ exclusion }) => devices.some(({ kind }) => kind && isExcluded(exclusion, kind)))
}

/** Whether the session is barred regardless of free capacity and limits. */
function isShut({ groupAllowed, inactive }: LimitedSession): boolean {
  return groupAllowed === false || inactive !== undefined
}

function demandOf({ requested, clusterSize = 1 }: LimitedSession, slot: SlotName): number {
  return (requested[slot] ?? 0) * clusterSize
}

/** Amounts of GPUs of all kernels together. */
function gpuDemandOf(session: LimitedSession): GpuDemand {
  return { devices: demandOf(session, 'cuda.device'), shares: demandOf(session, 'cuda.shares') }
}

function isFull({ scope, sessions }: Ledger): boolean {
  return scope.maxSessions !== null && sessions >= scope.maxSessions
}

function hasTooLittle(ledger: Ledger, session: LimitedSession): boolean {
  for (const slot of ledger.limited) if (isOver(ledger, session, slot)) return true
  return false
}

/** A slot that the session does not request never blocks it, even if more is held than a lowered limit allows. */
function isOver({ scope, held }: Ledger, session: LimitedSession, slot: SlotName): boolean {
  const needed = demandOf(session, slot)
  return needed > 0 && (held[slot] ?? 0) + needed > (scope.limits[slot] ?? Infinity)
}

/** Parts of a GPU that devices are: whole ones, and MIG instances of one to four slices. */
const WEIGHTS = [1, 4 / 7, 3 / 7, 2 / 7, 1 / 7, 1 / 2, 1 / 4].map(part => part * GPU_PARTS)

const REASONS = {
  user: 'user_policy',
  keypair: 'keypair_policy',
  group: 'group_limit',
  domain: 'domain_limit',
} as const satisfies Record<ScopeKind, ReasonCode>

const INACTIVE: Readonly<Record<Inactive, Reason>> = {
  domain: {
    code: 'domain_inactive',
    message: 'The domain of this session is deactivated. Starts once an admin activates the domain again.',
  },
  group: {
    code: 'project_inactive',
    message: 'The project of this session is deactivated. Starts once an admin activates the project again.',
  },
  user: {
    code: 'owner_inactive',
    message: 'The owner of this session is deactivated. Starts once an admin activates the account again.',
  },
}

/** Says how much of a slot the session needs, and how much of its limit the scope has left. Session owners and administrators read it. */
function lackOf(
  { kind, name, policy }: Scope,
  amounts: { readonly needed: string; readonly left: string; readonly limit: string },
): Because {
  switch (kind) {
    case 'user':
    case 'keypair':
      return because(`needs_of_${kind}`, { ...amounts, policy: policy ?? name })
    case 'group':
      return because('needs_of_project', { ...amounts, name })
    case 'domain':
      return because('needs_of_domain', { ...amounts, name })
  }
}

function concurrencyReason({ scope, sessions }: Ledger): Reason {
  const allowed = because(scope.kind === 'keypair' ? 'sessions_of_keypair_at_most' : 'sessions_at_most', {
    policy: scope.policy ?? scope.name,
    limit: scope.maxSessions ?? 0,
    running: sessions,
  })
  const way = because(scope.maxSessions === 0 ? 'ask_for_other_policy' : 'starts_after_one_ends')
  return reasonOf('concurrency_limit', together(allowed, way))
}

/** `2 GPU (H100)`: the GPUs that the session needs, with what it chooses among them. */
export function gpusNeeded(session: LimitedSession & PendingGpu): string {
  return DEVICE_SLOTS.filter(slot => demandOf(session, slot) > 0)
    .map(slot => readableOf(slot, demandOf(session, slot), session.gpu))
    .join(', ')
}

export const holderOf = ({ kind }: Pick<Scope, 'kind'>): HolderOfLimit => (kind === 'group' ? 'project' : kind)

function modelReason(
  { scope, limit }: { readonly scope: Scope; readonly limit: ModelLimit },
  session: LimitedSession & PendingGpu,
  devices: readonly KindOfDevice[],
): Reason {
  const name = scope.policy ?? scope.name
  const lack = modelLack(limit, { kind: holderOf(scope), name, needed: gpusNeeded(session) })
  const always = exclusionOf({ ...limit, held: 0 }, gpuDemandOf(session))
  const isNever =
    always !== undefined &&
    devices.every(({ kind }) => !kind || !isOfModel(limit.model, kind) || isExcluded(always, kind))
  return reasonOf(
    REASONS[scope.kind],
    together(lack, because(isNever ? 'ask_for_other_gpu' : 'starts_when_others_end')),
  )
}

function slotsReason(ledger: Ledger, session: LimitedSession): Reason {
  const { scope, held, limited } = ledger
  const over = limited.filter(slot => isOver(ledger, session, slot))
  const leftOf = (slot: SlotName) => Math.max(0, (scope.limits[slot] ?? 0) - (held[slot] ?? 0))
  const lacks = over.map(slot => {
    const needed = readable(slot, demandOf(session, slot))
    return lackOf(scope, { needed, left: bare(slot, leftOf(slot)), limit: readable(slot, scope.limits[slot] ?? 0) })
  })
  const never = over.some(slot => demandOf(session, slot) > (scope.limits[slot] ?? 0))
  const way = because(never ? 'ask_for_less' : 'starts_when_others_end')
  return reasonOf(REASONS[scope.kind], inTurn(lacks, way), {
    needed: formatSlots(Object.fromEntries(over.map(slot => [slot, demandOf(session, slot)]))),
    available: formatSlots(Object.fromEntries(over.map(slot => [slot, leftOf(slot)]))),
  })
}
