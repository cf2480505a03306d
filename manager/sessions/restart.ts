import { type Complete, defined } from '#base/defined'
import {
  type AgentId,
  AppError,
  because,
  type FolderMountSpec,
  type FolderId,
  formatSlots,
  isAutomount,
  isFinished,
  type KernelId,
  messageOf,
  mountPath,
  type Notice,
  type SessionSpec,
} from '#manager/contract'
import { type Mount } from '../folders/mounts.ts'
import { findAgent } from '../store/agents/agents.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { listDeletedFolders, listFoldersOfChoice, listSessionFolders } from '../store/sessions/session-folders.ts'
import { type Db } from '../store/schema.ts'
import { findHeir, hasLaunched, type OwnedSessionRow } from '../store/sessions/sessions.ts'

/** Options for starting a session again. */
export interface Again {
  /** The variables of the session. */
  readonly environ: SessionSpec['environ']
  readonly folders: FolderMountSpec[]
  readonly name: string | undefined
  readonly network: SessionSpec['network']
  /**
   * Keeps everything that an administrator chose who launched the session for its owner: command, variables, image, and paths of folders.
   */
  readonly keepCommand?: boolean | undefined
}

/**
 * The request that created the session. Its environment variables are used inside the manager only.
 *
 * Threat: an administrator launched the session and chose its command and its variables (`BASH_ENV` and `PROMPT_COMMAND` are commands,
 * too). Started again by its owner, the session gets the owner's dotfiles and dot-folders, so it gets the administrator's choices only
 * if the owner says so.
 *
 * @throws AppError `bad_request` for a batch session without its command
 */
export function specOf(
  session: OwnedSessionRow,
  { environ: own, folders, name, network, keepCommand = false }: Again,
): SessionSpec {
  const { group_id, launched_by, idle_timeout_seconds, max_lifetime_seconds } = session
  const who = otherChooser(session, { keepCommand })
  if (who !== null && session.kind === 'batch') {
    throw new AppError('bad_request', because('batch_command_of_other', { who }))
  }
  const { startup_command, run_image_command, environ } = who === null ? { ...session, environ: own } : NO_COMMAND
  // A new field of requests must be listed here, even if the next session does not take it over.
  const spec: Complete<SessionSpec> = {
    name,
    image: session.image,
    resources: formatSlots(session.requested),
    gpu: session.gpu ?? undefined,
    slurm: session.slurm ?? undefined,
    shmem: String(session.shmem_bytes),
    environ,
    count: 1,
    resourceGroup: session.resource_group,
    group: group_id ?? undefined,
    startupCommand: startup_command ?? undefined,
    runImageCommand: run_image_command || undefined,
    kind: session.kind,
    idleTimeoutSeconds: idle_timeout_seconds ?? undefined,
    maxLifetimeSeconds: max_lifetime_seconds ?? undefined,
    clusterSize: session.cluster_size === 1 ? undefined : session.cluster_size,
    clusterMode: session.cluster_mode === 'single-host' ? undefined : session.cluster_mode,
    network,
    dependsOn: undefined,
    startsAt: undefined,
    owner: undefined,
    interruptible: session.interruptible || undefined,
    tags: session.tags.length > 0 ? session.tags : undefined,
    note: session.note || undefined,
    folders,
    // The folders of a session that its owner launched include those that were mounted automatically.
    automount: launched_by !== null,
    // A raised priority was granted by an admin for the first session only.
    priority: Math.min(session.priority, 0),
  }
  return defined(spec)
}

const NO_COMMAND = { startup_command: null, run_image_command: false, environ: {} } as const

/** Address of the administrator who chose the properties of the session; null if its owner chose them, or takes them over. */
const otherChooser = ({ launched_by }: Pick<OwnedSessionRow, 'launched_by'>, { keepCommand = false }: Taking) =>
  keepCommand ? null : launched_by

type Taking = Pick<Again, 'keepCommand'>

/**
 * Threat: an image is a program, too. An administrator who launched the session chose it, perhaps one saved from a session of their own,
 * and when the owner starts the session again, it gets the owner's dotfiles and dot-folders. So the image must be one that the owner has
 * launched before, unless the owner takes over the administrator's choices.
 *
 * @throws AppError `bad_request`
 */
export async function requireOwnImage(db: Db, session: OwnedSessionRow, taking: Taking): Promise<void> {
  const { owner_id, image } = session
  const who = otherChooser(session, taking)
  if (who === null || (await hasLaunched(db, owner_id, image))) return
  throw new AppError('bad_request', because('image_of_other', { who, image }))
}

/**
 * The folders of a session, for a request.
 *
 * Threat: an administrator who launched the session also chose its folders and their paths. Programs run files from some paths in the home
 * (`.ipython`, `.local/lib`, `node_modules`), and a project's folder may contain files of the administrator. So only folders that the owner
 * chose are mounted, each under its own name, unless the owner takes over the administrator's choices.
 *
 * @throws AppError `folder_not_found` if one was deleted
 */
export async function mountsOf(
  db: Db,
  session: Pick<OwnedSessionRow, 'id' | 'launched_by'>,
  taking: Taking = {},
): Promise<FolderMountSpec[]> {
  const { id } = session
  const folders = (await listSessionFolders(db, [id])).get(id) ?? []
  const kept = folders.filter(({ pending }) => pending !== 'unmount')
  if (otherChooser(session, taking) !== null) {
    const chosen = await listFoldersOfChoice(db, id)
    const own = kept.filter(({ folder_id }) => chosen.has(folder_id))
    return own.map(({ folder_id: folder, read_only: readOnly }) => ({ folder, readOnly }))
  }
  const [deleted] = await listDeletedFolders(db, id)
  if (deleted !== undefined) {
    const why = because('folder_of_session_deleted', { name: deleted })
    throw new AppError('folder_not_found', { name: deleted, ...why })
  }
  return kept.map(({ folder_id: folder, path, read_only: readOnly }) => ({ folder, path, readOnly }))
}

/** The home directory that a restarted session takes over. */
export interface LeftFiles {
  readonly kernelId: KernelId
  /** The agent that has the files. */
  readonly agentId: AgentId
  /** When others could first use the session; null if they never could. Files that they left in the home also run in the next session. */
  readonly usedByOthersAt: Date | null
  /** Folders with a leading dot that were mounted at their own paths. */
  readonly dotFolders: ReadonlySet<FolderId>
}

/**
 * Threat: others used the session, and files that they left in its home (`.bashrc`) run in the next one. So the next one gets no new folder
 * with a leading dot, because each session of the owner mounts those; for the same reason none can be added to a session that others used.
 * Such a folder that the session already had stays, because its users could already write into it. Folders that the request names are
 * refused; automatically mounted ones are left out with a notice.
 *
 * @param mounts resolved, because the request may contain ids
 * @throws AppError `session_share_refused`
 */
export function withoutNewDots(
  files: LeftFiles | undefined,
  mounts: readonly Mount[],
): { readonly mounts: readonly Mount[]; readonly notices: readonly Notice[] } {
  if (!files || files.usedByOthersAt === null) return { mounts, notices: [] }
  const isNewDot = ({ folderId, name }: Mount) => isAutomount(name) && !files.dotFolders.has(folderId)
  const asked = mounts.find(mount => isNewDot(mount) && !mount.automatic)
  if (asked) {
    const { name } = asked
    throw new AppError('session_share_refused', { name, ...because('session_used_by_others', { name }) })
  }
  const left = mounts.filter(isNewDot)
  if (left.length === 0) return { mounts, notices: [] }
  const names = left.map(({ name }) => name).join(', ')
  const notice = messageOf('dot_folders_left_out', because('dot_folders_left_out', { names }))
  return { mounts: mounts.filter(mount => !isNewDot(mount)), notices: [notice] }
}

/**
 * Finds the files that the next session takes over. Whether the agent still keeps them is checked when that session starts.
 *
 * Threat: the command of an administrator who launched the session could leave a start-up file (`.bashrc`) in its home, which would run
 * together with the dotfiles and dot-folders of the owner's session. So its home is not taken over unless the owner confirms it.
 *
 * @returns undefined if the next session begins with an empty home
 * @throws AppError `session_live`, `files_gone`
 */
export async function filesOf(
  db: Db,
  session: OwnedSessionRow,
  { keepFiles = false }: { readonly keepFiles?: boolean | undefined },
): Promise<LeftFiles | undefined> {
  if (!isFinished(session.status)) {
    throw new AppError('session_live', { sessionId: session.id, ...because('session_is', { status: session.status }) })
  }
  if (session.launched_by !== null && !keepFiles) return undefined
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
  const had = (await listSessionFolders(db, [session.id])).get(session.id) ?? []
  const dotted = had.filter(({ name, path }) => isAutomount(name) && path === mountPath(name))
  return {
    kernelId: kernel.id,
    agentId: agent.id,
    usedByOthersAt: session.used_by_others_at,
    dotFolders: new Set(dotted.map(({ folder_id }) => folder_id)),
  }
}
