import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type AgentImage } from '#agent/contract'
import { type AgentRow, type ReportedState } from '../store/agents/agents.ts'
import { mapInSlices } from '../agent-link/in-slices.ts'
import { takeUpDevices, withDevices } from './devices.ts'

/** Whether the agent's row already contains this state, exactly as it would be written. */
export function isAsWritten(row: AgentRow, state: ReportedState): boolean {
  if (row.status !== 'CONNECTED' || row.version !== state.version || row.engine_version !== state.engineVersion)
    return false
  if (row.network_isolation !== state.networkIsolation) return false
  if (row.network_isolation_reason !== state.networkIsolationReason) return false
  if (!isDeepStrictEqual(row.network_isolation_reason_by, state.networkIsolationReasonBy ?? null)) return false
  if (!isDeepStrictEqual(row.program, state.program ?? null)) return false
  // A device has disappeared, so the write must check whether a kernel holds it.
  if (row.devices.length !== state.devices.length) return false
  const { devices, modes } = takeUpDevices(state.devices, {
    devices: row.devices,
    modes: row.device_modes,
    held: new Set(),
  })
  return (
    isDeepStrictEqual(devices, row.devices) &&
    isDeepStrictEqual(modes, row.device_modes) &&
    isDeepStrictEqual(withDevices(state.capacity, devices), row.capacity)
  )
}

/** Digest of a list of images, independent of their order. */
export async function digestOf(images: readonly AgentImage[]): Promise<string> {
  const digests = await mapInSlices(images, image => sha256(JSON.stringify(image)))
  return sha256(digests.toSorted().join('\n'))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
