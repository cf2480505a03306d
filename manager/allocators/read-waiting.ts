import { type AgentId, type Reason, reasonOf, type SessionId } from '#manager/contract'
import {
  canRun,
  canTake,
  closedReason,
  dependencyReason,
  type GivenDevice,
  type KindOfDevice,
  Limits,
  mayGive,
  type PendingSession,
  totalOf,
} from '../scheduler/plan/index.ts'
import { networkedAgents, tooFewHosts } from '../scheduler/slurm-hosts.ts'
import { type SlurmOwner, slurmRefusal } from '../scheduler/slurm-refusal.ts'
import { type ReadRights, withoutWithdrawn } from '../scheduler/rights.ts'
import { type PlacingPresence, readGroup } from '../scheduler/snapshot.ts'
import { type AgentRow, listAgents } from '../store/agents/agents.ts'
import { type AllocatedGroup, listWaitingOwners } from '../store/sessions/allocations.ts'
import { type Db } from '../store/schema.ts'
import { isOfDoubtfulPerson } from '../users/acting-for.ts'
import { jobUser } from './slurm/job-user.ts'

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
  /** Agents between which a network of a session can exist. */
  readonly networked: ReadonlySet<AgentId>
  /** The user of Slurm whose job the session is; null: the user who runs the manager. */
  readonly userOf: (session: PendingSession) => string | null
  /** Whether the session may run on this agent, whatever is free there: rules that Slurm does not know. */
  readonly isAble: (session: PendingSession, agentId: AgentId) => boolean
  /** Connected agents that lack what the session needs and Slurm does not know. What one lacks that is away is not known. */
  readonly unableFor: (session: PendingSession) => ReadonlySet<AgentId>
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
  const [state, agents, owners] = await Promise.all([
    readGroup(db, group.name, presence),
    listAgents(db, group.name),
    listWaitingOwners(db, group.name),
  ])
  const ownerOf = ({ id }: PendingSession): SlurmOwner => {
    const owner = owners.get(id)
    return owner ? { email: owner.email, isDoubtful: isOfDoubtfulPerson(owner) } : { email: '', isDoubtful: true }
  }
  const rightsNow = await rights(db, { resourceGroup: group.name })
  const snapshot = withoutWithdrawn(state.snapshot, rightsNow)
  const limits = new Limits(snapshot.scopes)
  const gpus = snapshot.agents.flatMap(({ devices }) => devices).filter(({ slot }) => slot === 'cuda.device')
  const acceptedBy = ({ gpu }: PendingSession) => gpus.filter(({ kind }) => mayGive(gpu, kind))
  const networked = networkedAgents(snapshot.agents)
  const startable = new Set<SessionId>()
  const blocked = new Map([...state.later, ...rightsNow.withdrawn])
  for (const session of snapshot.pending) {
    const reason =
      snapshot.active === false
        ? closedReason(snapshot)
        : (unknownToSlurm(session, ownerOf(session), group) ??
          tooFewHosts(session, networked) ??
          limits.explain(session) ??
          // Slurm chooses the GPUs, and does not know the limits on models: it is asked only if any of them would do.
          limits.explainModels(session, acceptedBy(session)) ??
          dependencyReason(session))
    if (reason) blocked.set(session.id, reason)
    else {
      limits.take(session, dearest(session, acceptedBy(session)))
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
    networked,
    userOf: session => jobUser(group.options.slurm ?? {}, ownerOf(session).email),
    isAble(session, agentId) {
      const agent = snapshot.agents.find(({ id }) => id === agentId)
      if (!agent || (session.onlyOn !== undefined && session.onlyOn !== agentId)) return false
      return canTake(agent, group.options) && canRun(agent, session)
    },
    unableFor: session =>
      new Set(snapshot.agents.filter(agent => agent.connected && !canRun(agent, session)).map(({ id }) => id)),
  }
}

/** All that the session may get: until Slurm has chosen, its GPUs count towards the limits on each model. */
function dearest(session: PendingSession, gpus: readonly KindOfDevice[]): GivenDevice[] {
  const amount = totalOf(session)['cuda.device'] ?? 0
  const models = new Map(gpus.map(({ slot, kind }) => [kind?.model, { slot, kind }]))
  return amount === 0 ? [] : [...models.values()].map(device => ({ ...device, amount }))
}

/** The request was admitted while Berth still ran the group or while it offered more, or its image asks for a share of a GPU. */
function unknownToSlurm(
  session: PendingSession,
  owner: SlurmOwner,
  { name, options }: AllocatedGroup,
): Reason | undefined {
  const { requested: resources, gpu, slurm } = session
  const cause = slurmRefusal({ resources, gpu, slurm, owner }, name, options.slurm)
  return cause && reasonOf('allocation_refused', cause)
}
