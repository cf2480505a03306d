import { defined } from '#base/defined'
import { type ClusterNetwork, type KernelFolder, type KernelSpec } from '#agent/contract'
import { type KernelDeviceRow, type KernelRow } from '../store/sessions/kernels.ts'
import { type SessionFolderRow } from '../store/sessions/session-folders.ts'
import { type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { type GrantIdentity } from '../store/tables/scheduling.ts'
import { type SessionStartFiles } from '../users/start-files.ts'

/** Parts of a kernel's specification besides its own row and that of its session. */
export interface KernelParts {
  /** The variables of the session. */
  readonly environ: KernelSpec['environ']
  readonly devices: readonly KernelDeviceRow[]
  readonly folders: readonly SessionFolderRow[]
  readonly startFiles: SessionStartFiles
  /** The grant of Slurm on which the session runs; undefined: Berth itself placed it. */
  readonly grant: GrantIdentity | undefined
  /** The network between the hosts of the session; undefined: it is on one host. */
  readonly cluster: ClusterNetwork | undefined
}

/**
 * Builds the spec that an agent needs to start a kernel, from database rows alone, so that a repeated request is
 * identical.
 */
export function kernelSpecOf(
  session: OwnedSessionRow,
  kernel: KernelRow,
  { environ, devices, folders, startFiles, grant, cluster }: KernelParts,
  manifestDigest?: string,
): KernelSpec {
  return {
    kernelId: kernel.id,
    sessionId: session.id,
    sessionName: session.name,
    role: kernel.role,
    ...(session.cluster_size > 1 ? { clusterSize: session.cluster_size } : {}),
    ...defined({ cluster }),
    ...(session.allowed_names === null ? {} : { allowedNames: session.allowed_names }),
    attempt: kernel.attempt,
    owner: { id: session.owner_id, email: session.owner_email },
    resourceGroup: session.resource_group,
    image: {
      reference: session.image,
      digest: session.image_digest ?? '',
      ...defined({ manifestDigest }),
    },
    slots: kernel.slots,
    shmemBytes: session.shmem_bytes,
    devices: devices.map(({ uuid, slot, amount }) => ({ uuid, slot, amount })),
    environ,
    startupCommand: session.startup_command,
    ...(session.run_image_command ? { runImageCommand: true as const } : {}),
    ...(session.launched_by === null ? {} : { launchedBy: session.launched_by }),
    ...(session.token_id === null ? {} : { tokenId: session.token_id }),
    requestedAt: session.created_at.toISOString(),
    kind: session.kind,
    authorizedKeys: session.owner_ssh_public_key === null ? [] : [session.owner_ssh_public_key],
    ...(folders.length === 0 ? {} : { folders: folders.map(toKernelFolder) }),
    ...filesOf(session, kernel),
    ...(grant ? { slurmJob: { id: grant.id, startedAt: grant.startedAt } } : {}),
    ...(startFiles.dotfiles.length === 0 ? {} : { dotfiles: [...startFiles.dotfiles] }),
    ...(startFiles.bootstrapScript === '' ? {} : { bootstrapScript: startFiles.bootstrapScript }),
  }
}

/** The home that the kernel continues with: that of its last run, or of the session that was restarted. */
function filesOf({ interruptions, files_of }: OwnedSessionRow, kernel: KernelRow): Pick<KernelSpec, 'filesOf'> {
  const from = interruptions > 0 ? kernel.files_of : files_of
  return from === null ? {} : { filesOf: from }
}

export function toKernelFolder({
  marker: storage,
  folder_id: folder,
  path,
  read_only: readOnly,
}: SessionFolderRow): KernelFolder {
  return { storage, folder, path, readOnly }
}
