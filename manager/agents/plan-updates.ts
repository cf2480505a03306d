import { type AgentId, type AgentUpdate, because, type Because, keysOf, type TextKeys } from '#manager/contract'
import { type AgentProgramRow, type TargetProgram } from '../store/agents/updates.ts'

export type UpdatedAgent = Omit<AgentProgramRow, 'row_version'>

export interface UpdateRules {
  /** The program that agents get; undefined while it is not known. */
  readonly target: TargetProgram | undefined
  readonly version: string
  readonly mode: 'automatic' | 'manual'
  /** Whether managers of different versions run. */
  readonly mixed: boolean
}

export interface UpdatePlan {
  /** Agents whose update is over, or not needed or not possible any more. */
  readonly done: readonly AgentId[]
  readonly failed: readonly { readonly id: AgentId; readonly why: Because }[]
  /** The agent to update now. */
  readonly begin: AgentId | undefined
}

/** An update about which nothing is heard for this long has failed. Long enough for a host that builds its toolbox. */
export const UPDATE_LIMIT_MS = 20 * 60_000

export interface PlanInput extends UpdateRules {
  readonly agents: readonly UpdatedAgent[]
  /** Whether the agent is connected here and has reported. */
  readonly isReady: (id: AgentId) => boolean
  /** Whether people use sessions through the agent. */
  readonly isBusy: (id: AgentId) => boolean
  /** Milliseconds since the epoch, on the clock of the records. */
  readonly now: number
}

/**
 * Decides about the updates of agents: one at a time, those that an administrator has asked for first. By itself only an agent through which
 * nobody is connected, and none after a failure, until that host is updated, or agents get another program.
 */
export function planUpdates(input: PlanInput): UpdatePlan {
  const { agents, target, mode, mixed, isReady, isBusy } = input
  const states = agents.map(agent => ({ agent, now: settled(agent, input) }))
  const done = states.flatMap(({ agent, now }) => (now === 'done' ? [agent.id] : []))
  const failed = states.flatMap(({ agent, now }) => (typeof now === 'object' ? [{ id: agent.id, why: now }] : []))
  const plan = { done, failed, begin: undefined }
  if (!target || mixed || states.some(({ now }) => now === 'updating')) return plan
  const open = states.filter(
    ({ agent, now }) =>
      !agent.removal &&
      isUpdatable(agent) &&
      agent.program.digest !== target.digest &&
      typeof now !== 'object' &&
      isReady(agent.id),
  )
  const wanted = open
    .filter(({ now }) => now === 'wanted')
    .toSorted((a, b) => ((a.agent.program_update?.at ?? '') < (b.agent.program_update?.at ?? '') ? -1 : 1))
  const stopped = mode === 'manual' || failed.length > 0 || states.some(({ now }) => now === 'failed')
  const next = wanted[0] ?? (stopped ? undefined : open.find(({ agent, now }) => now === 'none' && !isBusy(agent.id)))
  return { ...plan, begin: next?.agent.id }
}

type Settled = 'none' | 'wanted' | 'updating' | 'failed' | 'done' | Because

/** State of an agent's update, with what its reports say about it. */
function settled(agent: UpdatedAgent, { target, now }: PlanInput): Settled {
  const { program, program_update: update } = agent
  if (!update) return 'none'
  if (update.state === 'updating') {
    if (program?.digest === update.digest) return 'done'
    if (program?.failed?.id === update.id) return because('agent_says', { text: program.failed.why })
    if (!isUpdatable(agent)) return 'done'
    if (now - Date.parse(update.at) > UPDATE_LIMIT_MS)
      return because('update_silent', { minutes: Math.round(UPDATE_LIMIT_MS / 60_000) })
    return 'updating'
  }
  if (!isUpdatable(agent)) return 'done'
  if (!target) return update.state
  if (program?.digest === target.digest) return 'done'
  return update.state === 'failed' && update.digest !== target.digest ? 'done' : update.state
}

/** Whether managers can replace the program of the agent. */
export function isUpdatable<T extends Pick<UpdatedAgent, 'program'>>(
  agent: T,
): agent is T & { program: NonNullable<T['program']> } {
  return agent.program?.kind === 'line' && agent.program.updates
}

export interface UpdateView extends UpdateRules {
  /** Name of the first agent whose update has failed. */
  readonly failedAgent: string | undefined
  readonly isBusy: (id: AgentId) => boolean
}

/** State of the program of an agent, for administrators. */
export function updateOf(agent: UpdatedAgent, view: UpdateView): AgentUpdate {
  const { program, program_update: update } = agent
  const { target, version } = view
  const kind = program?.kind ?? null
  const of = (
    state: AgentUpdate['state'],
    reason?: { readonly why: string; readonly keys: TextKeys },
    command: string | null = null,
  ): AgentUpdate => ({
    state,
    kind,
    version: state === 'current' ? null : (target?.version ?? version),
    why: reason?.why ?? null,
    ...(reason && { whyBy: reason.keys }),
    command,
  })
  const told = (why: Because) => ({ why: why.why, keys: keysOf(why) })
  if (agent.status === 'REVOKED') return of('current')
  if (update?.state === 'updating') return of('updating')
  if (!isUpdatable(agent) || !target) {
    const off = program?.kind === 'line' && !program.updates ? because('update_off') : undefined
    return agent.version === version ? of('current') : of('by_hand', off && told(off), kind && commandOf(kind, version))
  }
  if (agent.program.digest === target.digest) return of('current')
  if (update?.state === 'failed') return of('failed', { why: update.why, keys: update.whyBy })
  return of('waiting', told(whyWaiting(agent, view)))
}

function whyWaiting(agent: UpdatedAgent, { mode, mixed, failedAgent, isBusy }: UpdateView): Because {
  if (mixed) return because('update_managers')
  if (agent.status !== 'CONNECTED') return because('update_away')
  if (agent.program_update?.state === 'wanted') return because('update_chosen')
  if (mode === 'manual') return because('update_by_command')
  if (failedAgent !== undefined) return because('update_paused', { agent: failedAgent })
  return because(isBusy(agent.id) ? 'update_in_use' : 'update_in_turn')
}

/** Command that updates a host which Berth does not update; null if there is no single one. */
function commandOf(kind: NonNullable<AgentUpdate['kind']>, version: string): string | null {
  switch (kind) {
    case 'package':
      return `apt install ./berth-server_${version}_*.deb`
    case 'folder':
      return 'git pull && npm ci && systemctl restart berth-agent'
    case 'line':
    case 'terminal':
      return 'berth admin agent join-token --command'
    case 'container':
      return null
  }
}
