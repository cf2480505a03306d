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
  })
  .meta({ id: 'Agent' })
export type Agent = z.infer<typeof Agent>

/** An image as users choose it: known because at least one agent holds it. */
export const Image = z
  .object({
    reference: z.string(),
    digest: z.string().describe('Image id of the engine, sha256:…'),
    title: z.string(),
    description: z.string(),
    sizeBytes: z.number(),
    minimum: WireSlots,
    shmem: z.string(),
    apps: z.array(
      z.object({ name: z.string(), title: z.string(), protocol: z.enum(['http', 'tcp']), path: z.string() }),
    ),
    agentIds: z.array(AgentId),
    /** False for images without labels of Berth or Backend.AI: terminal and SFTP only. */
    labelled: z.boolean(),
  })
  .meta({ id: 'Image' })
export type Image = z.infer<typeof Image>

/** What one request may hold at most and what is free now; drives the limits of the launch dialog. */
export const Resources = z
  .object({
    /** Largest request that one schedulable agent could hold when empty. */
    largest: WireSlots,
    /** Largest request that one agent could start now. */
    free: WireSlots,
    capacity: WireSlots,
    occupied: WireSlots,
    agents: z.object({ connected: z.int(), lost: z.int() }),
    sessions: z.object({ running: z.int(), pending: z.int() }),
  })
  .meta({ id: 'Resources' })
export type Resources = z.infer<typeof Resources>
