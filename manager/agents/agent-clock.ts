import { type AgentId } from '#manager/contract'
import { type KernelReport, type Report } from '#agent/contract'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { type AgentMemory } from './agent-memory.ts'

const MAX_SKEW_MS = 5_000

/**
 * Compares the clocks of agents with the database's. @returns a function that records the difference with each report, and logs a large one
 * once per connection
 */
export function createClockWatch({ store, log }: { readonly store: Store; readonly log: Log }) {
  return function check(
    agentId: AgentId,
    memory: Pick<AgentMemory, 'skewMs' | 'skewLogged'>,
    { clockMs, arrivedAt }: Pick<Report, 'clockMs'> & { readonly arrivedAt: number },
  ): void {
    memory.skewMs = Math.round(clockMs - store.now() + (performance.now() - arrivedAt))
    if (Math.abs(memory.skewMs) <= MAX_SKEW_MS || memory.skewLogged) return
    memory.skewLogged = true
    const { skewMs } = memory
    if (store.clock.lastStep())
      log.warn({ agentId, skewMs }, 'the database was set to another time than this agent has')
    else log.warn({ agentId, skewMs }, 'the clock of this agent differs, and so do the times in its logs')
  }
}

/** The end of the year 9999: later times have a different text form. */
const LATEST_MS = 253_402_300_799_999

/** Converts start times from the clock of the agent's machine to the database's clock. */
export function inOurTime(kernels: readonly KernelReport[], { skewMs }: Pick<AgentMemory, 'skewMs'>): KernelReport[] {
  return kernels.map(kernel => {
    if (kernel.state.state !== 'running') return kernel
    const ms = Math.min(Math.max(0, Date.parse(kernel.state.startedAt) - skewMs), LATEST_MS)
    const startedAt = new Date(ms).toISOString()
    return { ...kernel, state: { ...kernel.state, startedAt } }
  })
}
