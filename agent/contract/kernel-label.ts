import { z } from 'zod'
import { AgentId, KernelId, ManagerId, SessionId, UserId } from '#manager/contract'
import { KernelApp } from './kernel-app.ts'
import { KernelFolder } from './kernel-folder.ts'
import { listOf, recordOf } from './to-first-fault.ts'

export const LABEL_KERNEL = 'berth.kernel'
export const LABEL_SIGNATURE = 'berth.sig'
export const LABEL_MANAGER = 'berth.manager'
export const LABEL_KERNEL_ID = 'berth.kernel-id'

/** Value of the label `berth.kernel`: all that is needed to rebuild the manager's rows and the agent's memory. */
export const KernelLabel = z.object({
  v: z.literal(1),
  managerId: ManagerId,
  agentId: AgentId,
  sessionId: SessionId,
  sessionName: z.string(),
  kernelId: KernelId,
  role: z.string(),
  clusterSize: z.int().min(1).optional(),
  attempt: z.int(),
  owner: z.object({ id: UserId, email: z.string() }),
  resourceGroup: z.string(),
  image: z.object({ reference: z.string(), digest: z.string() }),
  /** Base units. */
  slots: recordOf(z.string(), z.int()),
  shmemBytes: z.int(),
  devices: listOf(z.object({ uuid: z.string(), slot: z.string(), amount: z.int() })),
  environ: recordOf(z.string(), z.string()),
  startupCommand: z.string().nullable(),
  runImageCommand: z.literal(true).optional(),
  launchedBy: z.string().optional(),
  kind: z.enum(['interactive', 'batch']).optional(),
  folders: listOf(KernelFolder).optional(),
  /** Apps with their commands; secrets are kept in the scratch directory's control folder, not here. */
  apps: z.array(z.unknown()).max(1_000).transform(readApps),
  createdAt: z.iso.datetime(),
  requestedAt: z.iso.datetime().optional(),
  /**
   * Signature of the manager that requested this kernel, over the request. The agent's own signature says that the agent
   * made the container; this one says that Berth wanted it. Left out in containers of older versions.
   */
  managerSignature: z.string().max(128).optional(),
  /** Key of the kernel's network, if that was created before the session was requested. */
  network: z.uuid().optional(),
})
export type KernelLabel = z.infer<typeof KernelLabel>

/** Apps of another version that are left out, before the rest is not looked at. */
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
