import { type ContainerInfo } from 'dockerode'
import { z } from 'zod'
import { type KernelLabel, KernelState, LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { type EngineClient, isMissing } from '../docker/engine-client.ts'
import { HOME, TOOLBOX } from '../docker/container-config.ts'
import { type LabelTrust, verifyKernelLabels } from '../docker/kernel-labels.ts'
import { demultiplex, tailBytes, tailOfJson } from '../docker/log-frames.ts'
import { networkName } from '../network/engine-networks.ts'
import { networkKeyOf } from '../network/session-networks.ts'
import { wasTakenByEngine } from './exit.ts'

/** A container of ours, as the engine reports it now. */
export interface FoundContainer {
  readonly id: string
  readonly label: KernelLabel
  /** `created`: never started; the rest as in the contract. */
  readonly state: KernelState | { readonly state: 'created' }
  readonly address: string | null
  readonly pid: number
  /** Whether somebody has stopped its processes by the engine. */
  readonly isPaused: boolean
  readonly cpus: readonly number[]
  /** `uid:gid` of its processes; older containers keep theirs when the user of sessions changes. */
  readonly user: string
  /** Directories of this host with the volumes that its image declares outside of the home. */
  readonly volumes: readonly string[]
}

const Mounted = z.object({ Type: z.string(), Source: z.string().optional(), Destination: z.string() })

const Inspected = z.object({
  Id: z.string(),
  State: z.object({
    Status: z.string(),
    Running: z.boolean(),
    Paused: z.boolean().optional(),
    OOMKilled: z.boolean(),
    Pid: z.int(),
    ExitCode: z.int(),
    StartedAt: z.string(),
  }),
  Config: z.object({ User: z.string(), Labels: z.record(z.string(), z.string()) }),
  HostConfig: z.object({ CpusetCpus: z.string() }),
  Mounts: z.array(Mounted).optional(),
  NetworkSettings: z.object({ Networks: z.record(z.string(), z.object({ IPAddress: z.string() })) }),
})

export interface InspectContext {
  readonly trust: LabelTrust
  readonly bootedAtSeconds: number | undefined
  readonly endedWhileEngineWasAway: boolean
  readonly ranUnderEngine: boolean
}

/** @returns undefined if the container does not exist or is not ours */
export async function inspectContainer(
  engine: EngineClient,
  id: string,
  context: InspectContext,
): Promise<FoundContainer | undefined> {
  try {
    return readInspection(await engine.calls.getContainer(id).inspect(), context)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Pure. @param inspection answer of the engine */
export function readInspection(inspection: unknown, context: InspectContext): FoundContainer | undefined {
  const found = Inspected.parse(inspection)
  const label = verifyKernelLabels({ id: found.Id, labels: found.Config.Labels }, context.trust)
  if (!label) return undefined
  const { State } = found
  const address = found.NetworkSettings.Networks[networkName(networkKeyOf(label))]?.IPAddress
  return {
    id: found.Id,
    label,
    state:
      State.Status === 'created'
        ? { state: 'created' }
        : KernelState.parse(
            State.Running
              ? { state: 'running', containerId: found.Id, startedAt: isoMillis(State.StartedAt) }
              : {
                  state: 'exited',
                  containerId: found.Id,
                  exitCode: State.ExitCode,
                  // A child that ran out of memory also sets the flag, without necessarily ending the session.
                  oomKilled: State.OOMKilled && State.ExitCode === 137,
                  engineRestarted: wasTakenByEngine({
                    exitCode: State.ExitCode,
                    startedAt: State.StartedAt,
                    endedWhileEngineWasAway: context.endedWhileEngineWasAway,
                    ranUnderEngine: context.ranUnderEngine,
                    bootedAtSeconds: context.bootedAtSeconds,
                  }),
                },
          ),
    address: address === undefined || address === '' ? null : address,
    pid: State.Pid,
    isPaused: State.Paused === true,
    cpus: parseCpuList(found.HostConfig.CpusetCpus),
    user: found.Config.User,
    volumes: volumesOf(found.Mounts ?? []),
  }
}

/**
 * Volumes that the engine created because the image declares them; volumes of Berth are the toolbox, the terminals, and parts of the home.
 */
function volumesOf(mounts: readonly z.infer<typeof Mounted>[]): string[] {
  const isOurs = (at: string) => [TOOLBOX, '/dev/pts'].includes(at) || at === HOME || at.startsWith(`${HOME}/`)
  return mounts.flatMap(({ Type, Source, Destination }) =>
    Type === 'volume' && Source !== undefined && !isOurs(Destination) ? [Source] : [],
  )
}

/** Needed because the engine prints nanoseconds. */
function isoMillis(time: string): string {
  return new Date(time).toISOString()
}

/** Parses `0-2,5`, the format of the engine and the kernel. */
export function parseCpuList(text: string): number[] {
  return text
    .split(',')
    .filter(part => part !== '')
    .flatMap(part => {
      const [first = 0, last = first] = part.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    })
}

/**
 * Ids of all containers, running or not, that carry the manager's id. The caller must check by the signature whether they are
 * ours.
 */
export async function listContainers(engine: EngineClient, managerId: string, kernelId?: string): Promise<string[]> {
  const label = [`${LABEL_MANAGER}=${managerId}`, ...(kernelId === undefined ? [] : [`${LABEL_KERNEL_ID}=${kernelId}`])]
  const containers: ContainerInfo[] = await engine.calls.listContainers({ all: true, filters: { label } })
  return containers.map(container => container.Id)
}

/** Stops the container if it runs. @returns exit code, or null if the container does not exist */
export async function stopContainer(engine: EngineClient, id: string, graceMs: number): Promise<number | null> {
  // The client without a timeout: a stop may last as long as its grace period.
  const container = engine.streams.getContainer(id)
  try {
    await container.stop({ t: Math.max(0, Math.ceil(graceMs / 1000)) })
  } catch (error) {
    if (isMissing(error)) return null
    // 304: the container does not run.
    if (!(error instanceof Error && 'statusCode' in error && error.statusCode === 304)) throw error
  }
  const { State } = await engine.calls.getContainer(id).inspect()
  return State.ExitCode
}

/**
 * Standard output and error in order.
 * @param limitBytes bytes kept from the end
 * @param timestamps each line begins with the time at which it was written (RFC 3339, UTC) and a space
 */
export async function readLogs(
  engine: EngineClient,
  id: string,
  { tail, limitBytes, timestamps = false }: { tail: number; limitBytes: number; timestamps?: boolean | undefined },
): Promise<{ text: string; truncated: boolean }> {
  const options = { stdout: true, stderr: true, follow: false, tail: tail + 1, timestamps } as const
  const raw = await engine.calls.getContainer(id).logs(options)
  const { text, truncated } = tailOfJson(tailBytes(demultiplex(raw), limitBytes), limitBytes)
  const lines = text.split('\n')
  const count = text.endsWith('\n') ? lines.length - 1 : lines.length
  return count > tail ? { text: lines.slice(count - tail).join('\n'), truncated: true } : { text, truncated }
}
