import { type AgentId, type Device } from '#manager/contract'
import { type Log } from '../log.ts'
import { type AgentMemory } from './agent-memory.ts'
import { type DeviceModes } from './devices.ts'

/** Sends device modes to an agent. */
export type SendDeviceModes = (agentId: AgentId, modes: DeviceModes) => Promise<unknown>

/**
 * Informs agents whose reports show other device modes than those set by admins.
 *
 * @returns a function that sends in the background, as the agent may answer late; the agent's next report shows whether the modes must be
 *   sent again
 */
export function createModesTeller({ send, log }: { readonly send: SendDeviceModes; readonly log: Log }) {
  return function tell(
    agentId: AgentId,
    memory: Pick<AgentMemory, 'modes' | 'tellingModes'>,
    reported: readonly Device[],
  ): void {
    const knows = reported.every(({ uuid, mode }) => mode === 'mig' || mode === (memory.modes[uuid] ?? mode))
    if (knows || memory.tellingModes) return
    memory.tellingModes = true
    send(agentId, memory.modes)
      .catch((error: unknown) => log.warn({ err: error, agentId }, 'an agent was not told how devices are given out'))
      .finally(() => (memory.tellingModes = false))
  }
}
