import { type AgentId } from '#manager/contract'
import { type Report } from '#agent/contract'
import { type AgentReads } from '../agent-link/reads.ts'
import { type EventPublisher } from '../events/bus.ts'
import { listDeviceHolders, lockAgent, type ReportedState, saveReportedState } from '../store/agents/agents.ts'
import { type Store } from '../store/open-store.ts'
import { writeHostEvent } from '../store/operation/webhook-events.ts'
import { type Db } from '../store/schema.ts'
import { type AgentMemory } from './agent-memory.ts'
import { type DeviceModes, takeUpDevices, withDevices } from './devices.ts'
import { isAsWritten } from './known-state.ts'

export interface ReportedStateDeps {
  readonly store: Store
  readonly reads: Pick<AgentReads, 'find' | 'seen'>
  readonly events: EventPublisher
}

/** `last_seen_at` is needed only after the connection is lost; writing it with every heartbeat would be a waste. */
const LAST_SEEN_EVERY_MS = 30_000

/**
 * Stores capacity, devices, network isolation and versions of an agent.
 *
 * @returns a function that resolves to whether they have changed
 */
export function createStateWriter({ store, reads, events }: ReportedStateDeps) {
  return async function write(
    agentId: AgentId,
    memory: Pick<AgentMemory, 'written' | 'writtenAt' | 'modes' | 'problems'>,
    report: Report,
  ): Promise<boolean> {
    const state = stateOf(report)
    const text = JSON.stringify(state)
    const now = performance.now()
    if (memory.written === '') {
      const row = await reads.find(agentId)
      if (row && isAsWritten(row, state)) {
        Object.assign(memory, { written: text, writtenAt: now, modes: row.device_modes })
        memory.problems.written = row.problem
        return false
      }
    }
    if (memory.written !== text) {
      const saved = await store.transaction(trx => saveInModes(trx, agentId, state))
      if (!saved) return false
      const { version, modes } = saved
      Object.assign(memory, { written: text, writtenAt: now, modes })
      events.publish({ topic: 'agent', id: agentId, version }, 'superadmins')
      return true
    }
    if (now - memory.writtenAt > LAST_SEEN_EVERY_MS) {
      memory.writtenAt = now
      await reads.seen(agentId)
    }
    return false
  }
}

function stateOf(report: Report): ReportedState {
  return {
    capacity: report.capacity,
    devices: report.devices,
    networkIsolation: report.network.isolation,
    networkIsolationReason: report.network.reason,
    networkIsolationReasonBy: report.network.reasonBy ?? null,
    version: report.version,
    engineVersion: report.engine.version,
    program: programOf(report),
  }
}

/** The program without what changes all the time. */
function programOf({ program }: Report): ReportedState['program'] {
  if (!program) return null
  const { busy: _, ...stored } = program
  return stored
}

/** Saves the state under the agent's lock, so that a mode that an admin sets meanwhile is not lost. */
async function saveInModes(
  trx: Db,
  agentId: AgentId,
  state: ReportedState,
): Promise<{ version: number; modes: DeviceModes } | undefined> {
  const row = await lockAgent(trx, agentId)
  if (!row) return undefined
  const here = new Set(state.devices.map(({ uuid }) => uuid))
  const isLost = row.devices.some(({ uuid }) => !here.has(uuid))
  const held = new Set(isLost ? (await listDeviceHolders(trx, agentId)).map(({ uuid }) => uuid) : [])
  const known = { devices: row.devices, modes: row.device_modes, held }
  const { devices, modes } = takeUpDevices(state.devices, known)
  const capacity = withDevices(state.capacity, devices)
  const version = await saveReportedState(trx, agentId, { ...state, capacity, devices, modes })
  // A host that has just joined has not reported any capacity yet.
  const isBack = row.status === 'LOST' && Object.keys(row.capacity).length > 0
  if (isBack) await writeHostEvent(trx, { event: 'host.back', host: row.name })
  return version === undefined ? undefined : { version, modes }
}
