import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { TextKeys } from '../causes/fields.ts'
import { GpuLimitUse } from '../quotas/gpu-limits.ts'
import { AgentId, KernelId, SessionId } from '../ids.ts'
import { WireSlots } from './resource-slots.ts'
import { sortBy } from '../sort.ts'

/**
 * Way in which the limits of a GPU are enforced: `mig` and `whole` by hardware, `enforced` by a tested limit of the driver, `guarded` by the
 * agent, which ends a session that uses more memory than its share; `accounted` relies on trust.
 */
export const Isolation = z.enum(['whole', 'mig', 'enforced', 'guarded', 'accounted'])

/** Way in which a GPU is shared: as a whole, in parts, or by the instances into which it is divided on its host. */
export const DeviceMode = z.enum(['whole', 'shared', 'mig'])
export type DeviceMode = z.infer<typeof DeviceMode>

/** Modes that an administrator can choose; `mig` is detected, not chosen. */
export const SettableMode = DeviceMode.exclude(['mig'])
export type SettableMode = z.infer<typeof SettableMode>

export const Device = z
  .object({
    uuid: TextUpTo(1_000),
    model: z.string(),
    slot: z.enum(['cuda.device', 'cuda.shares']),
    memBytes: z.number(),
    mode: DeviceMode,
    isolation: Isolation,
    isolationReason: z.string().nullable().describe('Reason for the class, unless the mode implies it.'),
    isolationReasonBy: TextKeys.optional(),
    problem: z.string().nullable().describe('Reason why no session starts on the device; null if it is healthy.'),
    problemBy: TextKeys.optional(),
    warning: z
      .string()
      .nullable()
      .optional()
      .describe(
        'What an administrator should look at although sessions start on the device; missing for older agents.',
      ),
    warningBy: TextKeys.optional(),
    plugin: z.enum(['nvidia', 'amd', 'simulated']),
  })
  .meta({ id: 'Device' })
export type Device = z.infer<typeof Device>

/** Use of a GPU now. Null = unknown, which is not 0: the driver does not report the utilisation of a MIG instance. */
export const DeviceFigures = z.object({
  uuid: TextUpTo(1_000),
  /** Percent. */
  utilization: z.number().nullable(),
  memBytes: z.number().nullable(),
})
export type DeviceFigures = z.infer<typeof DeviceFigures>

/** Use of a GPU by one session. */
export const SessionGpu = DeviceFigures.extend({
  utilization: DeviceFigures.shape.utilization.describe(
    'Use by the session alone, in percent of the whole GPU; null if not known. Of a shared GPU it is what the driver counts for its processes.',
  ),
  memBytes: DeviceFigures.shape.memBytes.describe(
    'GPU memory of the session alone; null if not known. On a shared GPU it is the sum over its processes, without managed memory.',
  ),
  device: z
    .object({
      utilization: DeviceFigures.shape.utilization,
      memBytes: DeviceFigures.shape.memBytes,
      totalBytes: z.number().describe('0 if the driver does not tell.'),
    })
    .optional()
    .describe('Use of the whole GPU by everybody on it; missing for agents of an older version.'),
})
export type SessionGpu = z.infer<typeof SessionGpu>

export const AgentDevice = Device.extend({
  occupied: z.string().describe('Amount that sessions hold, in its slot: 1 device, or a share like 0.30.'),
  utilization: DeviceFigures.shape.utilization.describe('Current use in percent; null if not known.'),
  memUsedBytes: DeviceFigures.shape.memBytes.describe('Current value; null if not known.'),
}).meta({ id: 'AgentDevice' })
export type AgentDevice = z.infer<typeof AgentDevice>

/**
 * Way in which the program of an agent came to its host: by the line (as a service, or in a terminal), by a package, as a container, or in a
 * folder (a clone, an archive, npm). Managers update only the first kind.
 */
export const PROGRAM_KINDS = ['line', 'terminal', 'package', 'container', 'folder'] as const

/** State of the program of an agent: `by_hand` is older than the manager, and nobody but an administrator of the host updates it. */
export const AGENT_UPDATE_STATES = ['current', 'waiting', 'updating', 'failed', 'by_hand'] as const
export type AgentUpdateState = (typeof AGENT_UPDATE_STATES)[number]

export const AgentUpdate = z
  .object({
    state: z.enum(AGENT_UPDATE_STATES),
    kind: z.enum(PROGRAM_KINDS).nullable().describe('How it was installed; null for agents of an older version.'),
    version: z.string().nullable().describe('Version that it gets; null if it has the program of the manager.'),
    why: z.string().nullable().describe('What an update waits for, or why it failed.'),
    whyBy: TextKeys.optional(),
    command: z.string().nullable().describe('What to run on the host where Berth does not update it.'),
  })
  .meta({ id: 'AgentUpdate' })
export type AgentUpdate = z.infer<typeof AgentUpdate>

/** How a host leaves: what becomes of its sessions, whether its images go, and whether it may stay behind as it is. */
export const HostRemovalSpec = z.strictObject({
  sessions: z.enum(['wait', 'end']).default('wait').describe('Wait until the sessions on it have ended, or end them.'),
  images: z.boolean().default(false).describe('Also remove images of sessions, and the toolbox, from the host.'),
  away: z
    .boolean()
    .default(false)
    .describe('Remove an agent that is not connected: its sessions end, and all of Berth stays on the host.'),
})
export type HostRemovalSpec = z.infer<typeof HostRemovalSpec>

export const AgentRemoval = z
  .object({
    step: z
      .enum(['draining', 'leaving', 'removed'])
      .describe(
        '`draining`: sessions are there still, or the host has refused, and it can be called off; `leaving`: the host removes Berth.',
      ),
    sessions: z.enum(['wait', 'end']),
    images: z.boolean(),
    by: z.string().describe('E-mail address of the administrator.'),
    at: z.iso.datetime(),
    problem: z.string().nullable().describe('Why the host has not left yet; it is tried again.'),
    problemBy: TextKeys.optional(),
    stays: z
      .array(z.object({ text: z.string(), by: TextKeys }))
      .describe('What stays on the host, once it is removed.'),
  })
  .meta({ id: 'AgentRemoval' })
export type AgentRemoval = z.infer<typeof AgentRemoval>

export const Agent = z
  .object({
    id: AgentId,
    name: z.string(),
    resourceGroup: z.string(),
    status: z.enum(['CONNECTED', 'LOST', 'REVOKED']),
    schedulable: z.boolean(),
    capacity: WireSlots,
    occupied: WireSlots,
    devices: z.array(AgentDevice),
    /** `partial` if the agent could not set up its firewall; the reason says why. */
    networkIsolation: z.enum(['full', 'partial']),
    networkIsolationReason: z.string().nullable(),
    networkIsolationReasonBy: TextKeys.optional(),
    version: z.string(),
    update: AgentUpdate.describe('Whether its program is that of the manager.'),
    removal: AgentRemoval.nullable().describe('How it leaves, if it does.'),
    engineVersion: z.string(),
    lastSeenAt: z.iso.datetime(),
    managers: z
      .array(z.object({ id: z.uuid(), url: z.string(), via: z.string().nullable() }))
      .optional()
      .describe(
        'The managers to which the agent is connected; `via` is the address of the manager in between if the agent cannot dial.',
      ),
    problem: z
      .string()
      .nullable()
      .optional()
      .describe('Part of its reports that could not be processed; every report tries again.'),
    problemBy: TextKeys.optional(),
  })
  .meta({ id: 'Agent' })
export type Agent = z.infer<typeof Agent>

/** Settings of an agent that an administrator changes. */
export const AgentChange = z
  .strictObject({
    schedulable: z.boolean().describe('False: no new session starts on it.'),
    resourceGroup: TextUpTo(64).describe('Moves the agent there; only while no session is on it.'),
  })
  .partial()
  .meta({ id: 'AgentChange' })
export type AgentChange = z.infer<typeof AgentChange>

/** An agent in a list: its GPUs are only counted, in total and with problems. */
export const AgentSummary = Agent.omit({ devices: true, managers: true })
  .extend({
    gpus: z.int().describe('Number of GPUs.'),
    deviceProblems: z
      .array(Device.pick({ uuid: true, model: true, problem: true, problemBy: true }))
      .describe('The GPUs on which no session starts.'),
  })
  .meta({ id: 'AgentSummary' })
export type AgentSummary = z.infer<typeof AgentSummary>

/** States of an agent for administrators: `paused` is connected and takes no new sessions, `forgotten` is revoked. */
export const AGENT_STATES = ['connected', 'paused', 'lost', 'forgotten'] as const
export type AgentState = (typeof AGENT_STATES)[number]

/** Orders of a list of agents; with `-`, descending. `cpu`, `mem` and `gpu` are the occupied share of the capacity. */
export const AGENT_ORDERS = ['name', 'state', 'group', 'cpu', 'mem', 'gpu', 'problems', 'seen', 'version'] as const
export type AgentOrder = (typeof AGENT_ORDERS)[number]
export const AgentSort = sortBy(AGENT_ORDERS)
export type AgentSort = z.infer<typeof AgentSort>

/** A container on an agent that names this Berth but has neither its signature nor a record. */
export const UnknownContainer = z
  .object({
    kernelId: KernelId,
    sessionId: SessionId,
    sessionName: z.string(),
    ownerEmail: z.string().describe('Owner according to its label; not verified.'),
    image: z.string(),
    slots: WireSlots,
    startedAt: z.iso.datetime(),
  })
  .meta({ id: 'UnknownContainer' })
export type UnknownContainer = z.infer<typeof UnknownContainer>

/** GPUs of one model that sessions can get, over all agents. */
export const GpuStock = z
  .object({
    model: z.string().describe('Name that the driver reports. The model of MIG instances ends with their profile.'),
    memBytes: z.number().describe('Of each; 0 if the driver does not tell.'),
    mode: DeviceMode,
    total: z.int().describe('Number of GPUs or MIG instances.'),
    free: z.string().describe('Number that is free now; of shared GPUs the sum of the free parts, such as "1.3".'),
  })
  .meta({ id: 'GpuStock' })
export type GpuStock = z.infer<typeof GpuStock>

/** Largest possible request, and free amounts, on the agents that the caller may use; determines the limits of the launch dialog. */
export const Resources = z
  .object({
    /** Largest request that one schedulable agent could hold when empty. */
    largest: WireSlots,
    /** Largest request that one agent could start now. */
    free: WireSlots,
    left: WireSlots.describe('Amounts that the limits leave to the caller; a missing slot is unlimited.'),
    partsHold: z
      .enum(['enforced', 'guarded', 'accounted'])
      .nullable()
      .describe(
        'How memory limits of GPU shares work on the GPU that is weakest in this: `enforced` by the driver, `guarded` by agents that end sessions, `accounted` on trust; null if no GPU is shared.',
      ),
    sharedGpus: z
      .array(z.object({ model: z.string(), memBytes: z.number() }))
      .describe('Models of the GPUs that are given out in shares, the largest memory first.'),
    gpus: z
      .array(GpuStock)
      .describe('The GPUs on agents that take sessions, by model, memory and mode; without those that have a problem.'),
    gpuLimits: z
      .array(GpuLimitUse)
      .optional()
      .describe('Limits of your resource policies on the GPUs of single models; left out without any.'),
    sessionsLeft: z.int().nullable().describe('How many more sessions the limits allow now; null = unlimited.'),
    capacity: WireSlots,
    occupied: WireSlots,
    agents: z.object({ connected: z.int(), lost: z.int() }),
    sessions: z
      .object({ running: z.int(), pending: z.int() })
      .describe('In the resource groups that the caller may use, or in the requested one.'),
  })
  .meta({ id: 'Resources' })
export type Resources = z.infer<typeof Resources>
