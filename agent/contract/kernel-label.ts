import { z } from 'zod'
import {
  AgentId,
  AllowedName,
  DateTime,
  KernelId,
  ManagerId,
  MOST_ALLOWED_NAMES,
  SessionId,
  TextUpTo,
  UserId,
} from '#manager/contract'
import { LONGEST_NAME, LONGEST_VALUE } from './fields.ts'
import { ClusterNetwork } from './cluster-network.ts'
import { KernelApp } from './kernel-app.ts'
import { KernelFolder } from './kernel-folder.ts'
import { listOf, recordOf } from './to-first-fault.ts'

export const LABEL_KERNEL = 'berth.kernel'
export const LABEL_SIGNATURE = 'berth.sig'
export const LABEL_MANAGER = 'berth.manager'
export const LABEL_KERNEL_ID = 'berth.kernel-id'
/** Number and start of the job in Slurm, by which an epilog finds the containers of the job. Not signed: nothing in Berth relies on them. */
export const LABEL_SLURM_JOB = 'berth.slurm-job'
export const LABEL_SLURM_START = 'berth.slurm-start'

/** Value of the label `berth.kernel`: all that is needed to rebuild the manager's rows and the agent's memory. */
export const KernelLabel = z.object({
  v: z.literal(1),
  managerId: ManagerId,
  agentId: AgentId,
  sessionId: SessionId,
  sessionName: TextUpTo(LONGEST_NAME),
  kernelId: KernelId,
  role: TextUpTo(LONGEST_NAME),
  clusterSize: z.int().min(1).optional(),
  cluster: ClusterNetwork.optional(),
  allowedNames: z.array(AllowedName).max(MOST_ALLOWED_NAMES).optional(),
  attempt: z.int(),
  owner: z.object({ id: UserId, email: TextUpTo(LONGEST_NAME) }),
  resourceGroup: TextUpTo(LONGEST_NAME),
  image: z.object({ reference: TextUpTo(LONGEST_NAME), digest: TextUpTo(LONGEST_NAME) }),
  /** Base units. */
  slots: recordOf(TextUpTo(LONGEST_NAME), z.int()),
  shmemBytes: z.int(),
  devices: listOf(z.object({ uuid: TextUpTo(LONGEST_NAME), slot: TextUpTo(LONGEST_NAME), amount: z.int() })),
  environ: recordOf(TextUpTo(LONGEST_NAME), TextUpTo(LONGEST_VALUE)),
  startupCommand: TextUpTo(LONGEST_VALUE).nullable(),
  runImageCommand: z.literal(true).optional(),
  launchedBy: TextUpTo(LONGEST_NAME).optional(),
  tokenId: z.uuid().optional(),
  kind: z.enum(['interactive', 'batch']).optional(),
  folders: listOf(KernelFolder).optional(),
  /** Apps with their commands; secrets are kept in the scratch directory's control folder, not here. */
  apps: z.array(z.unknown()).max(1_000).transform(readApps),
  createdAt: DateTime(),
  requestedAt: DateTime().optional(),
  /**
   * Signature of the manager that requested this kernel, over the request. The agent's own signature says that the agent
   * made the container; this one says that Berth wanted it. Left out in containers of older versions.
   */
  managerSignature: TextUpTo(128).optional(),
  /** Key of the kernel's network, if that was created before the session was requested. */
  network: z.uuid().optional(),
})
export type KernelLabel = z.infer<typeof KernelLabel>

/** Largest number of unreadable apps of another version that are skipped; then the rest is ignored. */
const MOST_UNREADABLE = 20

function readApps(apps: readonly unknown[]): KernelApp[] {
  const read: KernelApp[] = []
  let unreadable = 0
  for (const app of apps) {
    const { success, data } = KernelApp.safeParse(app)
    if (success) read.push(data)
    else if (++unreadable >= MOST_UNREADABLE) break
  }
  return read
}
