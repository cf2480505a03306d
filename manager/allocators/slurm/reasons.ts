import { because, type Because, type Reason, reasonOf, together } from '#manager/contract'
import { type AllocationEnd } from '../allocator.ts'

/** Limits on the length of a job. They do not depend on other jobs, so waiting does not help. */
const NEVER = /^(PartitionTimeLimit|PartitionNodeLimit|BadConstraints|.*MaxWallDurationPerJobLimit|AssocMaxWall.*)$/
const NO_NODE =
  /^(ReqNodeNotAvail|NodeDown|PartitionDown|PartitionInactive|Nodes_required|ReservationDeleted|Reservation)/

/** The reason why a waiting session waits, from Slurm's own word. Pure. */
export function waitingReason({
  reason,
  expectedAt,
}: {
  readonly reason: string
  readonly expectedAt: Date | null
}): Reason {
  const waits = becauseOfWord(reason)
  // Estimates move with every pass of Slurm's scheduler, so seconds would only change the text all the time.
  const time = expectedAt && new Date(Math.ceil(expectedAt.getTime() / 60_000) * 60_000).toISOString()
  return reasonOf('allocation_waits', time === null ? waits : together(waits, because('slurm_estimate', { time })))
}

function becauseOfWord(reason: string): Because {
  if (reason === '' || reason === 'None') return because('slurm_asked')
  if (reason === 'Resources') return because('slurm_resources')
  if (reason === 'Priority') return because('slurm_priority')
  if (reason.startsWith('JobHeld')) return because('slurm_held')
  if (NEVER.test(reason)) return because('slurm_never', { reason })
  if (/^(QOS|Assoc)/.test(reason)) return because('slurm_limit', { reason })
  if (NO_NODE.test(reason)) return because('slurm_no_node', { reason })
  return because('slurm_waits', { reason })
}

const ENDS = {
  cancelled: 'slurm_cancelled',
  timeout: 'slurm_timeout',
  preempted: 'slurm_preempted',
  requeued: 'slurm_requeued',
  node_failed: 'slurm_node_failed',
  out_of_memory: 'slurm_out_of_memory',
  failed: 'slurm_failed',
  completed: 'slurm_failed',
} as const satisfies Record<AllocationEnd, string>

export const endReason = (end: AllocationEnd | undefined): Reason =>
  reasonOf('allocation_ended', because(end === undefined ? 'slurm_forgotten' : ENDS[end]))

/** The reason of a session that is stopped because Slurm has taken its allocation away, and continues on another one. */
export const INTERRUPTED_BY_SLURM: Reason = reasonOf('interrupted', because('slurm_continues'))
