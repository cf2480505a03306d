import { type LaunchErrors, type LaunchField } from './launch-form.ts'
import { t } from '../../words/en/launch.ts'

/** The first mistake of the form from its top, as shown beside the button. */
export interface Fault {
  readonly field: LaunchField
  readonly label: string
  readonly message: string
}

/** Fields that can have a fault, in their order on the page; `selector` finds the element to focus. */
const FIELDS = [
  { field: 'name', label: 'name', selector: '#launch-name' },
  { field: 'count', label: 'count', selector: '#launch-count' },
  { field: 'owner', label: 'owner', selector: '#launch-owner' },
  { field: 'image', label: 'environment', selector: '[name="image"]' },
  { field: 'environ', label: 'variables', selector: '#launch-environ' },
  { field: 'folders', label: 'folders', selector: '#launch-folders' },
  { field: 'cpu', label: 'cpu', selector: '#amount-cpu-CPU' },
  { field: 'mem', label: 'ramLabel', selector: '#amount-mem-RAM' },
  { field: 'shmem', label: 'sharedMemory', selector: '#amount-mem-Sharedmemory' },
  { field: 'gpu', label: 'gpu', selector: '[id^="amount-cuda"]' },
  { field: 'gpuChoice', label: 'gpuModel', selector: '#launch-gpu-model' },
  { field: 'clusterSize', label: 'containers', selector: '#launch-cluster-size' },
  { field: 'network', label: 'networkAccess', selector: '#launch-network' },
  { field: 'allowedNames', label: 'allowedNames', selector: '#launch-allowed-names' },
  { field: 'startupCommand', label: 'startupCommand', selector: '#launch-command' },
  { field: 'maxLifetime', label: 'maxLifetime', selector: '#launch-max-lifetime' },
  { field: 'idleTimeout', label: 'idleTimeout', selector: '#launch-idle-timeout' },
  { field: 'slurmTime', label: 'slurmTime', selector: '#launch-slurm-time' },
  { field: 'startsAt', label: 'startTime', selector: '#launch-starts-at' },
  { field: 'dependsOn', label: 'afterThese', selector: '#launch-depends-on' },
  { field: 'priority', label: 'priority', selector: '#launch-priority' },
] as const satisfies readonly { field: LaunchField; label: string; selector: string }[]
export function firstFault(errors: LaunchErrors): Fault | null {
  for (const { field, label } of FIELDS) {
    const message = errors[field]
    if (message) return { field, label: t(label), message }
  }
  return null
}

/** Focuses the field of a fault. */
export function focusFault({ field }: Fault, form: ParentNode): void {
  const selector = FIELDS.find(candidate => candidate.field === field)?.selector
  if (selector) form.querySelector<HTMLElement>(selector)?.focus()
}
