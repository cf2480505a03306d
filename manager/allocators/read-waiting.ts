import { type Reason, type SessionId } from '#manager/contract'
import { closedReason, dependencyReason, Limits, type PendingSession } from '../scheduler/plan/index.ts'
import { type ReadRights, withoutWithdrawn } from '../scheduler/rights.ts'
import { type PlacingPresence, readGroup } from '../scheduler/snapshot.ts'
import { type AgentRow, listAgents } from '../store/agents/agents.ts'
import { type AllocatedGroup } from '../store/sessions/allocations.ts'
import { type Db } from '../store/schema.ts'

/** Waiting sessions of a resource group with another engine than Berth. */
export interface WaitingSessions {
  readonly group: AllocatedGroup
  readonly pending: ReadonlyMap<SessionId, PendingSession>
  /** Sessions that nothing in Berth keeps from starting. */
  readonly startable: ReadonlySet<SessionId>
  /** Why the others wait. */
  readonly blocked: ReadonlyMap<SessionId, Reason>
  /** Sessions that can never start. */
  readonly doomed: ReadonlyMap<SessionId, Reason>
  /** Reasons in the database now. */
  readonly written: ReadonlyMap<SessionId, Reason>
  readonly agents: readonly AgentRow[]
}

export interface ReadWaitingDeps {
  readonly presence: PlacingPresence
  readonly rights: ReadRights
}

/** Reads the waiting sessions of a group, and Berth's own rules about them: limits, rights, dependencies, start times. */
export async function readWaiting(
  db: Db,
  group: AllocatedGroup,
  { presence, rights }: ReadWaitingDeps,
): Promise<WaitingSessions> {
  const [state, agents] = await Promise.all([readGroup(db, group.name, presence), listAgents(db, group.name)])
  const rightsNow = await rights(db, { resourceGroup: group.name })
  const snapshot = withoutWithdrawn(state.snapshot, rightsNow)
  const limits = new Limits(snapshot.scopes)
  const startable = new Set<SessionId>()
  const blocked = new Map([...state.later, ...rightsNow.withdrawn])
  for (const session of snapshot.pending) {
    const reason =
      snapshot.active === false ? closedReason(snapshot) : (limits.explain(session) ?? dependencyReason(session))
    if (reason) blocked.set(session.id, reason)
    else {
      limits.take(session)
      startable.add(session.id)
    }
  }
  return {
    group,
    pending: new Map(snapshot.pending.map(session => [session.id, session])),
    startable,
    blocked,
    doomed: new Map([...state.doomed, ...rightsNow.doomed]),
    written: state.written,
    agents,
  }
}
