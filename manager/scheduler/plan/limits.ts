import {
  because,
  type Because,
  formatSlots,
  inTurn,
  type Reason,
  type ReasonCode,
  reasonOf,
  type ResourceSlots,
  type ScopeUsage,
  SLOT_NAMES,
  type SlotName,
  together,
} from '#manager/contract'
import { bare, readable } from './amounts.ts'

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

export type Inactive = Exclude<ScopeKind, 'keypair'>

interface Ledger {
  readonly scope: Scope
  readonly limited: readonly SlotName[]
  readonly held: Partial<Record<SlotName, number>>
  sessions: number
}

/**
 * Remaining allowance of every scope while a plan is made or written; it only shrinks. A session over a limit takes nothing, so it does not
 * block others, and smaller ones behind it may still fit.
 */
export class Limits {
  readonly #ledgers: ReadonlyMap<string, Ledger>

  constructor(scopes: ReadonlyMap<string, Scope> = new Map()) {
    this.#ledgers = new Map(
      [...scopes].map(([key, scope]) => [
        key,
        {
          scope,
          limited: SLOT_NAMES.filter(slot => scope.limits[slot] !== undefined),
          held: { ...scope.held },
          sessions: scope.sessions,
        },
      ]),
    )
  }

  allows(session: LimitedSession): boolean {
    if (isShut(session)) return false
    for (const key of session.scopes ?? []) {
      const ledger = this.#ledgers.get(key)
      if (ledger && (isFull(ledger) || hasTooLittle(ledger, session))) return false
    }
    return true
  }

  take(session: LimitedSession): void {
    for (const key of session.scopes ?? []) {
      const ledger = this.#ledgers.get(key)
      if (!ledger) continue
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

/** Whether the session is barred regardless of free capacity and limits. */
function isShut({ groupAllowed, inactive }: LimitedSession): boolean {
  return groupAllowed === false || inactive !== undefined
}

function demandOf({ requested, clusterSize = 1 }: LimitedSession, slot: SlotName): number {
  return (requested[slot] ?? 0) * clusterSize
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
