import { z } from 'zod'
import { AgentId, KernelId, SessionId } from './ids.ts'
import { WireSlots } from './resource-slots.ts'

/** Kinds of holders with limits, in the order in which the limits are checked. */
export const SCOPE_KINDS = ['user', 'keypair', 'group', 'domain'] as const

/**
 * Amounts that one user, keypair, group or domain may hold, holds, and may still request. The held amount is a sum over
 * everything that runs now.
 */
export const ScopeUsage = z
  .object({
    kind: z.enum(SCOPE_KINDS),
    id: z.string().describe('User id, access key, group id, or name of the domain.'),
    name: z.string(),
    policy: z.string().nullable().describe('Resource policy of a user or keypair.'),
    limits: WireSlots.describe('A missing slot is unlimited.'),
    held: WireSlots,
    left: WireSlots.describe('Rest of the limited slots; never below 0.'),
    maxSessions: z.int().nullable(),
    sessions: z.int().describe('Number of sessions that hold resources now.'),
  })
  .meta({ id: 'ScopeUsage' })
export type ScopeUsage = z.infer<typeof ScopeUsage>

export const FINDING_KINDS = [
  'container_gone', // the row says that it runs, but there is no container
  'not_told', // the container has started or ended, but no report said so
  'unknown_container', // a container without a row: adopted
  'stray_container', // a container whose session ended or runs elsewhere: removed
  'kernel_of_ended_session', // a row held resources for a session that had ended
  'other_amounts', // a row held other amounts or devices than its container has
] as const

/** A difference between rows and containers, already corrected. */
export const Finding = z.object({
  kind: z.enum(FINDING_KINDS),
  message: z.string(),
  agentId: AgentId.nullable(),
  sessionId: SessionId,
  kernelId: KernelId,
})
export type Finding = z.infer<typeof Finding>

/** Result of a comparison of rows with containers. Empty `findings`: everything agrees. */
export const Recalculation = z
  .object({
    findings: z.array(Finding),
    agents: z.array(
      z.object({
        agentId: AgentId,
        name: z.string(),
        compared: z.boolean(),
        why: z.string().nullable().describe('Reason why the agent was not compared and not changed.'),
        containers: z.int(),
      }),
    ),
  })
  .meta({ id: 'Recalculation' })
export type Recalculation = z.infer<typeof Recalculation>
