import { z } from 'zod'
import { CauseFields, messageOf } from '../causes/fields.ts'
import { type Because } from '../causes/causes.ts'
import { WireSlots } from '../agents/resource-slots.ts'

/** Codes for the reason of a session's status; people read the message beside the code. `docs/errors.md` explains each. */
export const REASON_CODES = [
  'requested', // the user asked for it
  'placed', // the scheduler chose an agent
  'create_sent',
  'image_missing',
  'image_pulled',
  'started',
  'user_terminated',
  'admin_terminated',
  'exited', // the main process ended by itself
  'kernel_failed', // a kernel other than the main one failed by itself, and the session ended with it
  'oom_killed',
  'memory_killed', // a program of the running session was killed: the session had used up its memory
  'disk_limit', // the agent ended the session: it filled a disk, or used more disk space than a session may
  'gpu_limit', // the agent ended the session: it used more memory of a shared GPU than its share
  'gpu_failed', // a GPU of the running session does not work as it should
  'gpu_warned', // the running session uses more memory of a shared GPU than its share
  'host_limit', // the agent ended the session: it used up a resource that all sessions of a host share
  'engine_restarted', // found exited after the engine restarted
  'container_gone', // somebody removed the container behind our back
  'create_failed',
  'deadline_exceeded', // a transitional state took too long
  'agent_lost',
  'agent_forgotten',
  'retried',
  'host_unfit', // the host could not start any container: retried without counting an attempt
  'starting_soon', // the agent starts other sessions first
  'adopted', // found on an agent after a restart
  'imported', // found running on an agent, although the database had no row for the session, or (after a restore) said PENDING
  'idle_timeout', // the session was idle for too long
  'max_lifetime', // the session reached its maximum lifetime
  'extended', // somebody postponed the end of the session
  'folder_added', // a folder was added to the running session
  'folder_taken_out',
  'folder_lowered', // a mount is read-only since the session was placed: the owner may now only read the folder
  'interruption_announced', // the session will be stopped for one of higher priority, and then waits to continue
  'interruption_called_off', // the capacity is not needed any more
  'interrupted', // the session was stopped for one of higher priority, and waits to continue
  'lost_by_restore',
  // why a PENDING session waits
  'no_agents',
  'agents_unreachable',
  'too_large', // no agent could hold the session even when empty
  'capacity',
  'fragmentation', // enough capacity in sum, but not on one agent
  'image_nowhere', // no schedulable agent holds the image
  'architecture_nowhere', // no schedulable agent runs images for this processor architecture, or only agents without free capacity
  'gpu_nowhere', // no schedulable agent has a GPU of the chosen model, memory or MIG profile
  'network_withdrawn', // the resource policy or the domain does not allow its network any more
  'network_nowhere', // no schedulable agent keeps sessions from the network, or within an allow list
  'no_host_network', // the session needs several agents, and fewer than two have an address in a private network
  'storage_nowhere', // no schedulable agent has the storage of its folders
  'queued_behind',
  'reserved', // next in the queue: capacity is reserved for the session
  'group_inactive', // an admin has closed the session's resource group
  'scheduling_paused', // the scheduler is paused, after a restore or by an admin
  // limits, in the order in which they are checked
  'concurrency_limit', // the user or keypair has as many sessions that hold resources as it may have at a time
  'user_policy', // the user's sessions hold as much as their resource policy allows
  'keypair_policy', // the same for the keypair that made the session
  'group_limit', // the same for the group (project)
  'domain_limit', // the same for the domain
  'group_not_allowed', // access to the resource group was withdrawn
  'domain_inactive', // an admin has deactivated the session's domain
  'project_inactive', // an admin has deactivated the session's project (group)
  'owner_inactive', // an admin has deactivated the session's owner
  // rights of the owner that were withdrawn since the request
  'domain_left', // the owner is in another domain
  'project_left', // the owner is not in the session's project any more
  'launcher_left', // the admin who launched it for the owner does not manage the owner's account any more
  'image_withdrawn', // the domain may not use the image any more
  'folder_withdrawn', // the owner, or the admin who launched it for the owner, may not mount one of its folders any more
  'folder_trashed', // one of the session's folders is in the trash
  'dependencies', // sessions on which it depends have not ended yet
  'starts_later', // the start time has not come
  'interrupting', // sessions of lower priority are interrupted for it
  // in a resource group with the engine Slurm
  'allocation_waits', // the session waits in Slurm's queue
  'allocation_refused', // Slurm refused the request; it is repeated
  'allocation_unplaced', // Slurm granted resources on which the session cannot start
  'allocator_away', // Slurm does not answer
  'allocation_ended', // Slurm ended the session's allocation, and the session with it
  // why a waiting session was cancelled
  'dependency_failed',
  'folder_deleted', // one of the session's folders was deleted permanently
  'token_ended', // the access token that launched the session has ended or expired
] as const
export const ReasonCode = z.enum(REASON_CODES)
export type ReasonCode = z.infer<typeof ReasonCode>

/** A reason as the user reads it. `needed` and `available` are set when amounts are the cause. */
export const Reason = z
  .object({
    code: ReasonCode,
    message: z.string(),
    ...CauseFields,
    note: z.string().optional().describe('Words of the person who decided; the message holds them too.'),
    needed: WireSlots.optional(),
    available: WireSlots.optional(),
    expectedBy: z.iso.datetime().optional().describe('Latest time of the start; only if known.'),
    notBefore: z.iso.datetime().optional().describe('Time before which the session does not start.'),
    until: z.iso.datetime().optional().describe('Time until which a running session tells it; the timeline keeps it.'),
    interrupts: z
      .object({ sessions: z.int(), at: z.iso.datetime() })
      .optional()
      .describe('Number of sessions that are interrupted for this one, and when.'),
  })
  .meta({ id: 'Reason' })
export type Reason = z.infer<typeof Reason>

/** A reason whose text has a key, so that pages show it in their language. */
export const reasonOf = (
  code: ReasonCode,
  why: Because,
  rest: Omit<Partial<Reason>, 'code' | 'message'> = {},
): Reason => ({ ...messageOf(code, why), ...rest })
