import { type AgentId, type DeviceFigures, type KernelId } from '#manager/contract'
import { type AgentImage, type KernelMounts } from '#agent/contract'
import { type Orphan } from '../scheduler/orphans.ts'
import { type DeviceModes } from './devices.ts'
import { RecentKills } from './recent-kills.ts'
import { createProblems, type Problems } from './problems.ts'

/** Whether no session can start on an agent, for as long as that lasts. */
export interface FaultMemory {
  readonly isFault: boolean
  /** On the clock of `performance.now()`. */
  readonly since: number
  /** Whether superadmins were informed of it. */
  readonly isTold: boolean
}

/** State of an agent that this process remembers during one connection. Each part of `agents/` names the fields that it uses. */
export interface AgentMemory {
  /** Whether the agent was reconciled at least once on this connection, and its engine answers. */
  ready: boolean
  /** When its engine stopped answering, on the clock of `performance.now()`. */
  engineDownSince: number | undefined
  deviceFigures: readonly DeviceFigures[]
  readonly problems: Problems
  /** Whether sessions can start on it, and since when; undefined before its first report. */
  fault: FaultMemory | undefined
  /** Milliseconds by which its clock is ahead of the database's. */
  skewMs: number
  skewLogged: boolean
  /** The state as last written, so that only changes are written. Empty until it is known. */
  written: string
  /** When state or `last_seen_at` was last written, on the clock of `performance.now()`. */
  writtenAt: number
  modes: DeviceModes
  tellingModes: boolean
  /** Images that are not written yet. */
  images: readonly AgentImage[] | undefined
  /** Kernels that were missing from the last complete report. */
  missing: ReadonlySet<KernelId>
  /** Markers of the storages that are mounted on it. */
  storage: ReadonlySet<string>
  /** Architectures of images that it runs; undefined if it does not report them. */
  architectures: ReadonlySet<string> | undefined
  /** Address of the agent in the private network between hosts; undefined without one. */
  clusterAddress: string | undefined
  /** Whether it keeps sessions from the network, or within an allow list. */
  restricts: boolean
  /** Whether people use sessions through it, as it reports. */
  busy: boolean
  /** Folders that were added to running kernels, as it reports them. */
  mounts: ReadonlyMap<KernelId, KernelMounts>
  /** Containers that occupy resources the database considers free. */
  orphans: readonly Orphan[]
  /** Reported ends that may belong to a start in flight at another manager, with the time of the first report. */
  readonly endedSince: Map<string, number>
  readonly memoryKills: RecentKills
  /** GPUs with a problem, by UUID. */
  readonly gpuFaults: Map<string, GpuFault>
}

/** Time since which a GPU has a problem, and whether superadmins were told. */
export interface GpuFault {
  readonly since: number
  isTold: boolean
}

export interface AgentMemories {
  /** The memory of the agent, which is empty at first. */
  of(agentId: AgentId): AgentMemory
  find(agentId: AgentId): AgentMemory | undefined
  forget(agentId: AgentId): void
  ready(): readonly AgentId[]
}

const NONE: ReadonlySet<string> = new Set()

export function createMemories(): AgentMemories {
  const memories = new Map<AgentId, AgentMemory>()
  return {
    of(agentId) {
      const memory = memories.get(agentId) ?? emptyMemory()
      memories.set(agentId, memory)
      return memory
    },
    find: agentId => memories.get(agentId),
    forget: agentId => void memories.delete(agentId),
    ready: () => [...memories].flatMap(([agentId, { ready }]) => (ready ? [agentId] : [])),
  }
}

function emptyMemory(): AgentMemory {
  return {
    ready: false,
    engineDownSince: undefined,
    deviceFigures: [],
    problems: createProblems(),
    fault: undefined,
    skewMs: 0,
    skewLogged: false,
    written: '',
    writtenAt: 0,
    modes: {},
    tellingModes: false,
    images: undefined,
    missing: new Set(),
    storage: NONE,
    architectures: undefined,
    clusterAddress: undefined,
    restricts: false,
    busy: true,
    mounts: new Map(),
    orphans: [],
    endedSince: new Map(),
    memoryKills: new RecentKills(),
    gpuFaults: new Map(),
  }
}
