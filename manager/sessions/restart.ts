import {
  type AgentId,
  AppError,
  because,
  type FolderMountSpec,
  formatSlots,
  isFinished,
  type KernelId,
  type SessionId,
  type SessionSpec,
} from '#manager/contract'
import { findAgent } from '../store/agents/agents.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { listDeletedFolders, listSessionFolders } from '../store/sessions/session-folders.ts'
import { type Db } from '../store/schema.ts'
import { findHeir, type OwnedSessionRow } from '../store/sessions/sessions.ts'

/** The request that created the session. Its environment variables are used inside the manager only. */
export function specOf(session: OwnedSessionRow, folders: FolderMountSpec[], name: string | undefined): SessionSpec {
  const { group_id, startup_command, run_image_command, idle_timeout_seconds, max_lifetime_seconds } = session
  return {
    ...(name === undefined ? {} : { name }),
    image: session.image,
    resources: formatSlots(session.requested),
    shmem: String(session.shmem_bytes),
    environ: session.environ,
    count: 1,
    resourceGroup: session.resource_group,
    ...(group_id === null ? {} : { group: group_id }),
    ...(startup_command === null ? {} : { startupCommand: startup_command }),
    ...(run_image_command ? { runImageCommand: true } : {}),
    kind: session.kind,
    ...(idle_timeout_seconds === null ? {} : { idleTimeoutSeconds: idle_timeout_seconds }),
    ...(max_lifetime_seconds === null ? {} : { maxLifetimeSeconds: max_lifetime_seconds }),
    ...(session.interruptible ? { interruptible: true } : {}),
    ...(session.tags.length > 0 ? { tags: session.tags } : {}),
    ...(session.note === '' ? {} : { note: session.note }),
    folders,
    // The folders of the first session include those that were mounted automatically.
    automount: false,
    // A raised priority was granted by an admin for the first session only.
    priority: Math.min(session.priority, 0),
  }
}

/** The folders of a session, for a request. @throws AppError `folder_not_found` if one was deleted */
export async function mountsOf(db: Db, id: SessionId): Promise<FolderMountSpec[]> {
  const [deleted] = await listDeletedFolders(db, id)
  if (deleted !== undefined) {
    const why = because('folder_of_session_deleted', { name: deleted })
    throw new AppError('folder_not_found', { name: deleted, ...why })
  }
  const folders = (await listSessionFolders(db, [id])).get(id) ?? []
  const kept = folders.filter(({ pending }) => pending !== 'unmount')
  return kept.map(folder => ({ folder: folder.folder_id, path: folder.path, readOnly: folder.read_only }))
}

/** The home directory that a restarted session takes over. */
export interface LeftFiles {
  readonly kernelId: KernelId
  /** The agent that has the files. */
  readonly agentId: AgentId
}

/**
 * Finds the files that the next session takes over. Whether the agent still keeps them is checked when that session
 * starts.
 *
 * @throws AppError `session_live`, `files_gone`
 */
export async function filesOf(db: Db, session: OwnedSessionRow): Promise<LeftFiles> {
  if (!isFinished(session.status)) {
    throw new AppError('session_live', { sessionId: session.id, ...because('session_is', { status: session.status }) })
  }
  const [kernel, ...others] = await listKernels(db, [session.id])
  if (others.length > 0) {
    throw new AppError('files_gone', because('files_of_several'))
  }
  if (!kernel?.agent_id || session.started_at === null) {
    throw new AppError('files_gone', because('never_ran'))
  }
  const agent = await findAgent(db, kernel.agent_id)
  if (!agent || agent.status === 'REVOKED' || agent.resource_group !== session.resource_group) {
    throw new AppError('files_gone', because('host_left'))
  }
  const heir = await findHeir(db, kernel.id)
  if (heir) throw new AppError('files_gone', because('files_taken', { session: heir.name }))
  return { kernelId: kernel.id, agentId: agent.id }
}
