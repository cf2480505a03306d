import { defined } from '#base/defined'
import { type Report } from '#agent/contract'
import { type Because, keysOf } from '#manager/contract'
import { capacityOf } from '../capacity.ts'
import { type CurrentReport } from '../control/reporter.ts'
import { runnableArchitectures } from '../docker/architectures.ts'
import { type ImageCatalog } from '../images/catalog.ts'
import { type KernelManager } from '../kernel/kernel-manager.ts'
import { type Isolation } from '../network/firewall.ts'
import { version } from '../version.ts'
import { type EnginePart } from './engine-part.ts'
import { type HostPart } from './host-part.ts'

export interface ReportDeps {
  readonly engine: Pick<EnginePart, 'state'>
  readonly host: HostPart
  readonly kernels: Pick<KernelManager, 'known' | 'reports'>
  readonly images: ImageCatalog
  /** Architectures besides the host's own, for which the host has an emulator. */
  readonly emulated: readonly string[]
}

/** Full state of this host, as reported to managers. */
export function currentReport({ engine: { state }, host, kernels, images, emulated }: ReportDeps): CurrentReport {
  const { firewall, networks, clusters, reach, faults, devices, storage } = host
  return {
    version,
    // While the engine is away, the last known state is still reported, but marked as not reachable.
    engine: {
      version: state.version,
      reachable: state.reachable && kernels.known,
      architectures: runnableArchitectures(state.architecture, emulated),
    },
    capacity: capacityOf(state),
    devices: devices.list(),
    deviceFigures: [...devices.figures()],
    images: [...images.images],
    kernels: kernels.reports(),
    network: {
      ...networkReport(firewall.state, networks.problem),
      ...clusterReport(clusters),
      restricts: reach.problem === null,
    },
    host: hostReport(faults.problem),
    storage: [...storage.markers],
    storageAway: [...storage.away],
  }
}

function networkReport({ isolation, reason }: Isolation, problem: Because | null): Report['network'] {
  return {
    isolation,
    reason: reason?.why ?? null,
    ...(reason && { reasonBy: keysOf(reason) }),
    problem: problem?.why ?? null,
    ...(problem && { problemBy: keysOf(problem) }),
  }
}

function clusterReport({ address, problem }: HostPart['clusters']) {
  return problem
    ? { clusterProblem: problem.why, clusterProblemBy: keysOf(problem) }
    : defined({ clusterAddress: address })
}

function hostReport(problem: Because | null): Report['host'] {
  return { problem: problem?.why ?? null, ...(problem && { problemBy: keysOf(problem) }) }
}
