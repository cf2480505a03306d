import { z } from 'zod'
import { AgentId, SessionId } from '../ids.ts'
import { ResourceGroupName } from '../agents/resource-groups.ts'
import { SLOT_NAMES, WireSlots } from '../agents/resource-slots.ts'
import { sortBy } from '../sort.ts'

/** Orders of the queue; `position` is the order in which sessions are tried. */
export const QUEUE_ORDERS = ['position', 'name', 'owner', 'priority', 'created', 'resourceGroup'] as const
export type QueueOrder = (typeof QUEUE_ORDERS)[number]
export const QueueSort = sortBy(QUEUE_ORDERS)
export type QueueSort = z.infer<typeof QueueSort>

/** Capacity of agents that is reserved for a session that has waited long. A resource group has at most one reservation. */
export const Reservation = z
  .object({
    resourceGroup: ResourceGroupName,
    session: z.object({ id: SessionId, name: z.string(), ownerEmail: z.string() }),
    agent: z.object({ id: AgentId, name: z.string() }).describe('The agent; of several, the first one.'),
    agents: z
      .array(z.object({ id: AgentId, name: z.string() }))
      .describe('All agents: more than one for a session over several hosts that no single one could hold.'),
    needed: WireSlots.describe('Amounts of all kernels of the session together.'),
    held: WireSlots.describe('The part of them that is free on the agents, and so held now; the rest is still in use.'),
    devices: z
      .array(z.object({ uuid: z.string(), slot: z.enum(SLOT_NAMES), amount: z.string(), held: z.string() }))
      .describe(
        'The GPUs that the session gets, each with the amount that it needs and the part of it that is free now.',
      ),
    since: z.iso.datetime(),
    expectedBy: z.iso.datetime().nullable().describe('Latest start of the session; null if it is not known.'),
  })
  .meta({ id: 'Reservation' })
export type Reservation = z.infer<typeof Reservation>
