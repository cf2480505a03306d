import { type LaunchErrors, type LaunchField } from './launch-form.ts'

/** The first mistake of the form from its top, as shown beside the button. */
export interface Fault {
  readonly field: LaunchField
  readonly label: string
  readonly message: string
}

/** Fields that can have a fault, in their order on the page; `selector` finds the element to focus. */
const FIELDS: readonly { readonly field: LaunchField; readonly label: string; readonly selector: string }[] = [
  { field: 'image', label: 'Environment', selector: '[name="image"]' },
  { field: 'folders', label: 'Folders', selector: '#launch-folders' },
  { field: 'cpu', label: 'CPU', selector: '#amount-cpu-CPU' },
  { field: 'mem', label: 'RAM', selector: '#amount-mem-RAM' },
  { field: 'shmem', label: 'Shared memory', selector: '#amount-mem-Sharedmemory' },
  { field: 'gpu', label: 'GPU', selector: '[id^="amount-cuda"]' },
  { field: 'startupCommand', label: 'Startup command', selector: '#launch-command' },
  { field: 'maxLifetime', label: 'Maximum lifetime', selector: '#launch-max-lifetime' },
  { field: 'idleTimeout', label: 'Idle timeout', selector: '#launch-idle-timeout' },
  { field: 'name', label: 'Name', selector: '#launch-name' },
  { field: 'count', label: 'Number of sessions', selector: '#launch-count' },
  { field: 'environ', label: 'Environment variables', selector: '#launch-advanced input' },
  { field: 'dependsOn', label: 'After these sessions', selector: '#launch-depends-on' },
  { field: 'priority', label: 'Priority', selector: '#launch-priority' },
]
/** Fields in the part of the form that can be folded. */
const FOLDED: readonly LaunchField[] = ['environ', 'dependsOn', 'priority']

export function firstFault(errors: LaunchErrors): Fault | null {
  for (const { field, label } of FIELDS) {
    const message = errors[field]
    if (message) return { field, label, message }
  }
  return null
}

export const isFolded = ({ field }: Fault) => FOLDED.includes(field)

/** Focuses the field of a fault. */
export function focusFault({ field }: Fault, form: ParentNode): void {
  const selector = FIELDS.find(candidate => candidate.field === field)?.selector
  if (selector) form.querySelector<HTMLElement>(selector)?.focus()
}
