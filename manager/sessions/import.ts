import { type AgentId, type Reason, type ResourceSlots, SESSION_NAME, type SlotName } from '#manager/contract'
import { type KernelLabel } from '#agent/contract'
import { type EventPublisher } from '../events/bus.ts'
import { insertKernelDevices, insertKernels, listKernels } from '../store/sessions/kernels.ts'
import { readLifetimeLimits } from '../store/sessions/lifetime.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import {
  findLiveNames,
  findSession,
  insertSessions,
  type NewSession,
  type OwnedSessionRow,
} from '../store/sessions/sessions.ts'
import { keepClusterNetwork } from '../store/sessions/placements.ts'
import { insertSessionFolders } from '../store/sessions/session-folders.ts'
import { readFolderNames } from '../store/storage/folders.ts'
import { findSessionOfKernel } from '../store/sessions/kernel-owner.ts'
import { lockGroupOfAgent } from '../store/agents/agent-groups.ts'
import { toApp } from '../images/apps.ts'
import { FIRST_ID } from './cluster-network.ts'
import { findUser, findUserByEmail, type UserRow } from '../store/identity/users.ts'
import { othersMayKnowPassword } from '../users/acting-for.ts'

export interface ImportedContainer {
  readonly agentId: AgentId
  readonly label: KernelLabel
  readonly containerId: string
  /** Start of the container by the database's clock, as reported by the agent. */
  readonly startedAt: string
  /** The agent's current capacity, in base units. */
  readonly capacity: ResourceSlots
}

/**
 * Creates rows for a running container of ours that the database does not know (it was restored, or lost). All data
 * comes from the container's label, which a manager of this Berth has signed, or which an admin has confirmed. Runs under
 * the scheduler's lock, so that the resources the container occupies are not allocated again.
 */
export async function importContainer(
  store: Store,
  events: EventPublisher,
  container: ImportedContainer,
): Promise<ImportOutcome> {
  if (!holds(container)) return 'too_large'
  const startedAt = inTime(container, store.now())
  const done = await store.transaction(trx => insertRows(trx, { ...container, startedAt }))
  if (typeof done === 'string') return done
  events.publish({ topic: 'session', id: container.label.sessionId, version: 1 }, done.audience)
  return 'imported'
}

/**
 * `known`: the rows exist already. `not_of_its_session`: its session is known, but has no such kernel. `too_large`: it claims more
 * resources than its agent has.
 */
export type ImportOutcome = 'imported' | 'known' | 'not_of_its_session' | 'no_owner' | 'too_large'

function holds({ label, capacity }: ImportedContainer): boolean {
  return Object.entries(label.slots).every(
    ([slot, amount]) => amount >= 0 && amount <= (capacity[slot as SlotName] ?? 0),
  )
}

/** Clamps the start time to be after the request for its session, and not in the future. */
function inTime({ label, startedAt }: ImportedContainer, now: number): string {
  const earliest = label.requestedAt === undefined ? 0 : Date.parse(label.requestedAt)
  return new Date(Math.min(now, Math.max(Date.parse(startedAt), earliest))).toISOString()
}

async function insertRows(trx: Db, container: ImportedContainer) {
  const { label, agentId } = container
  const resourceGroup = (await lockGroupOfAgent(trx, agentId)) ?? container.label.resourceGroup
  if (await findSessionOfKernel(trx, label.kernelId)) return 'known'
  const known = await findSession(trx, label.sessionId)
  if (known && !(await isMissing(trx, known, label))) return 'not_of_its_session'
  const owner = await findOwner(trx, label.owner)
  if (owner === undefined) return 'no_owner'
  const { id: ownerId, domain } = owner
  const message = 'Found running on its host; the manager had no record of this session.'
  const reason: Reason = { code: 'imported', message }
  const { sessionId, kernelId } = label
  const slots = label.slots as ResourceSlots
  const { kind = 'interactive' } = label
  const limits = await readLifetimeLimits(trx, { userId: ownerId })
  const session: NewSession = {
    id: sessionId,
    name: freeName(nameOf(label), await findLiveNames(trx, ownerId)),
    ownerId,
    keypair: null,
    domain,
    groupId: null,
    status: 'RUNNING',
    reason,
    resourceGroup,
    image: label.image.reference,
    imageDigest: label.image.digest,
    requested: slots,
    gpu: null,
    slurm: null,
    clusterSize: label.clusterSize ?? 1,
    clusterMode: label.cluster ? 'multi-host' : 'single-host',
    allowedNames: label.allowedNames ?? null,
    priority: 0,
    dependsOn: [],
    shmemBytes: label.shmemBytes,
    shmemFromImage: false,
    environ: label.environ,
    startupCommand: label.startupCommand,
    runImageCommand: label.runImageCommand ?? false,
    launchedBy: label.launchedBy ?? null,
    tokenId: label.tokenId ?? null,
    kind,
    // The owner's policy applies. The session's own maximum lifetime is lost, so none is set.
    idleTimeoutSeconds: kind === 'batch' ? null : limits.idleTimeoutSeconds,
    maxLifetimeSeconds: null,
    apps: label.apps.map(toApp),
    attempt: label.attempt,
    // The label also contains a time, but from another clock.
    createdAt: container.startedAt,
    startedAt: container.startedAt,
    filesOf: null,
    // The label does not say whether others used the session.
    filesUsedByOthersAt: new Date(container.startedAt),
    startsAt: null,
    interruptible: false,
    tags: [],
    note: '',
  }
  if (!known) {
    await insertSessions(trx, [session])
    if (label.cluster) await keepClusterNetwork(trx, sessionId, label.cluster.id - FIRST_ID)
  }
  const { attempt } = label
  const { containerId } = container
  await insertKernels(trx, [
    { id: kernelId, sessionId, role: label.role, status: 'RUNNING', slots, agentId, attempt, containerId },
  ])
  await insertKernelDevices(
    trx,
    label.devices.map(({ uuid, slot, amount }) => ({
      kernel_id: kernelId,
      agent_id: agentId,
      uuid,
      slot: slot === 'cuda.shares' ? 'cuda.shares' : 'cuda.device',
      amount,
    })),
  )
  if (!known) await noteFolders(trx, label)
  await insertSessionEvents(trx, [{ sessionId, kernelId, from: null, to: 'RUNNING', reason, actor: null }])
  return { audience: { userId: ownerId, domain } }
}

/** Records the mounted folders of the session, so that none of them is deleted while it runs. */
async function noteFolders(trx: Db, { sessionId, folders = [] }: KernelLabel): Promise<void> {
  const names = await readFolderNames(
    trx,
    folders.map(({ folder }) => folder),
  )
  const rows = folders.flatMap(({ folder, path, readOnly }) => {
    const name = names.get(folder)
    return name === undefined ? [] : [{ session_id: sessionId, folder_id: folder, name, path, read_only: readOnly }]
  })
  await insertSessionFolders(trx, rows)
}

/** Whether this is a missing kernel of a session that was just imported through another of its kernels. */
async function isMissing(
  trx: Db,
  session: OwnedSessionRow,
  { clusterSize = 1, attempt, role }: KernelLabel,
): Promise<boolean> {
  if (clusterSize === 1 || session.status !== 'RUNNING' || session.reason.code !== 'imported') return false
  if (session.cluster_size !== clusterSize || session.attempt !== attempt) return false
  return (await listKernels(trx, [session.id])).every(kernel => kernel.role !== role)
}

/**
 * Finds the owner of the container: the user who started it or, if the restored database lacks that user, the account that was made again
 * for the address.
 *
 * Threat: the owner of a session enters it, with its folders and the dotfiles in its home. An administrator makes an account with any
 * address, and may know its password, so such an account gets the container only once its person has chosen another one; and no
 * administrator stands in for a person who has no account. Such a container stays where it is, and a superadmin may remove it.
 */
async function findOwner(trx: Db, { id, email }: KernelLabel['owner']): Promise<UserRow | undefined> {
  const known = await findUser(trx, id)
  if (known) return known
  const again = await findUserByEmail(trx, email)
  const isTheirs = again && again.active && again.email_verified_at !== null && !othersMayKnowPassword(again)
  return isTheirs ? again : undefined
}

function nameOf({ sessionName, sessionId }: KernelLabel): string {
  return SESSION_NAME.test(sessionName) ? sessionName : `session-${sessionId.slice(-12)}`
}

/** Appends a suffix if another live session has taken the name meanwhile. Stays within 64 characters. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let suffix = 1; ; suffix++) {
    const end = suffix === 1 ? '' : `-${suffix}`
    const candidate = name.slice(0, 64 - end.length) + end
    if (!taken.has(candidate)) return candidate
  }
}
