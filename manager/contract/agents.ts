import { z } from 'zod'
import { AgentId } from './ids.ts'
import { WireSlots } from './resource-slots.ts'

/** How a GPU's limits hold: `mig` and `whole` by hardware, `enforced` by a probed limit, `accounted` on trust. */
export const Isolation = z.enum(['whole', 'mig', 'enforced', 'accounted'])

export const Device = z
  .object({
    uuid: z.string(),
    model: z.string(),
    slot: z.enum(['cuda.device', 'cuda.shares']),
    memBytes: z.number(),
    isolation: Isolation,
    plugin: z.enum(['nvidia', 'simulated']),
  })
  .meta({ id: 'Device' })
export type Device = z.infer<typeof Device>

export const Agent = z
  .object({
    id: AgentId,
    name: z.string(),
    resourceGroup: z.string(),
    status: z.enum(['CONNECTED', 'LOST', 'REVOKED']),
    schedulable: z.boolean(),
    capacity: WireSlots,
    occupied: WireSlots,
    devices: z.array(Device),
    /** `partial` where the agent could not set up its firewall; the reason says why. */
    networkIsolation: z.enum(['full', 'partial']),
    networkIsolationReason: z.string().nullable(),
    version: z.string(),
    engineVersion: z.string(),
    lastSeenAt: z.iso.datetime(),
    problem: z
      .string()
      .nullable()
      .optional()
      .describe('What it reports and cannot be taken up; tried again all the time.'),
  })
  .meta({ id: 'Agent' })
export type Agent = z.infer<typeof Agent>

/**
 * What one request may hold at most and what is free now, on the agents that the caller may use; drives the limits of the
 * launch dialog.
 */
export const Resources = z
  .object({
    /** Largest request that one schedulable agent could hold when empty. */
    largest: WireSlots,
    /** Largest request that one agent could start now. */
    free: WireSlots,
    left: WireSlots.describe('What limits leave the caller to ask for; a slot that is left out is unlimited.'),
    sessionsLeft: z.int().nullable().describe('How many more sessions limits let start now; null = any number.'),
    capacity: WireSlots,
    occupied: WireSlots,
    agents: z.object({ connected: z.int(), lost: z.int() }),
    sessions: z.object({ running: z.int(), pending: z.int() }),
  })
  .meta({ id: 'Resources' })
export type Resources = z.infer<typeof Resources>
