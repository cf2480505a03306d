import { parseSlots, type Agent, type AgentDevice, type AgentState, type AgentSummary } from '#manager/contract'
import { textBy } from '../../../ui/cause-text.ts'
import { clusterMeters, type Meter } from '../../../data/usage/usage-text.ts'
import { t } from '../../../words/en/admin-agents.ts'

export function stateOf({ status, schedulable }: Pick<Agent, 'status' | 'schedulable'>): AgentState {
  if (status === 'REVOKED') return 'forgotten'
  if (status === 'LOST') return 'lost'
  return schedulable ? 'connected' : 'paused'
}

const TONES = { connected: 'good', paused: 'warn', lost: 'bad', forgotten: 'neutral' } as const
export const stateChip = (agent: Pick<Agent, 'status' | 'schedulable'>) => {
  const state = stateOf(agent)
  return { tone: TONES[state], label: t(state) }
}

const UPDATE_TONES = { current: 'good', waiting: 'neutral', updating: 'busy', failed: 'bad', by_hand: 'warn' } as const
export const updateChip = ({ update }: Pick<Agent, 'update'>) => ({
  tone: UPDATE_TONES[update.state],
  label: t(`update_${update.state}`),
})

/** The version of an agent, and what becomes of it unless it is that of Berth. */
export const versionText = (agent: Pick<Agent, 'version' | 'update'>): string =>
  agent.update.state === 'current' ? agent.version : `${agent.version} · ${t(`update_${agent.update.state}`)}`

/** The bars of an agent: one per slot with a capacity. */
export const slotBars = ({ capacity, occupied }: Pick<Agent, 'capacity' | 'occupied'>): readonly Meter[] =>
  clusterMeters(parseSlots(capacity), parseSlots(occupied))

/** The bar of GPUs: whole ones or shares, depending on the agent; undefined without GPUs. */
export const gpuBar = (agent: Pick<Agent, 'capacity' | 'occupied'>): Meter | undefined =>
  slotBars(agent).find(({ key }) => key.startsWith('cuda'))

/** Problems that need an administrator, in words; empty for a healthy agent. */
export function problemsOf(agent: Agent | AgentSummary): readonly string[] {
  const devices = 'devices' in agent ? agent.devices : agent.deviceProblems
  return [
    ...(stateOf(agent) === 'lost' ? [t('lostWhy')] : []),
    ...(agent.problem ? [textBy(agent.problemBy, agent.problem)] : []),
    ...(agent.networkIsolationReason
      ? [t('partlyIsolated', { why: textBy(agent.networkIsolationReasonBy, agent.networkIsolationReason) })]
      : []),
    ...(agent.update.state === 'failed'
      ? [t('updateFailed', { why: textBy(agent.update.whyBy, agent.update.why ?? '') })]
      : []),
    ...devices.flatMap(({ model, problem, problemBy }) =>
      problem === null ? [] : [t('deviceProblem', { model, problem: textBy(problemBy, problem) })],
    ),
  ]
}

/** Why free GPU capacity cannot be allocated; null if it can, or if none is free. */
export function strandedWhy(device: AgentDevice, agent: Pick<Agent, 'status' | 'schedulable'>): string | null {
  const isFull = Number(device.occupied) >= 1
  if (isFull) return null
  if (device.problem !== null) return textBy(device.problemBy, device.problem)
  const state = stateOf(agent)
  if (state === 'lost') return t('strandedLost')
  if (state === 'paused') return t('strandedPaused')
  return device.mode === 'shared' && Number(device.occupied) > 0 ? t('strandedShares') : null
}
