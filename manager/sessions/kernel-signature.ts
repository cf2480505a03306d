import { type AgentId, type ManagerId, type SessionId } from '#manager/contract'
import { type KernelLabel, type KernelSpec } from '#agent/contract'
import { type SecretBox } from '../secrets/secret-box.ts'

type Place = { readonly managerId: ManagerId; readonly agentId: AgentId }

/**
 * Signs the requests for kernels that a manager sends to agents, and verifies that signature in the label of a container that the database
 * does not know.
 *
 * Threat model: an accepted agent is trusted only with its own sessions. It writes the labels of its containers itself, so a label alone
 * proves nothing to the manager: it could name any owner, and amounts beyond every limit. The signature covers owner, name, amounts,
 * devices and agent, with a key derived from the master key, so only kernels that a manager of this Berth has requested from this agent are
 * imported. An agent can still keep a container of its own running past its end.
 */
export interface KernelSigner {
  sign(spec: KernelSpec, agentId: AgentId): string
  /** Whether a manager of this Berth signed the label for this agent. */
  isSigned(label: KernelLabel, agentId: AgentId): boolean
  /** The secret from which the kernels of a session derive the SSH keys that they share: the same in each repeated request, and kept nowhere. */
  clusterSeed(sessionId: SessionId, attempt: number): string
}

const PURPOSE = 'kernel'
const PURPOSE_OF_SEED = 'cluster-ssh'

export function createKernelSigner(box: Pick<SecretBox, 'mac' | 'isMac'>, managerId: ManagerId): KernelSigner {
  return {
    sign: (spec, agentId) => box.mac(factsOf({ ...spec, managerId, agentId }), PURPOSE),
    isSigned: (label, agentId) =>
      label.managerId === managerId &&
      label.agentId === agentId &&
      label.managerSignature !== undefined &&
      box.isMac(label.managerSignature, factsOf(label), PURPOSE),
    clusterSeed: (sessionId, attempt) => box.mac(`${managerId}/${sessionId}/${attempt}`, PURPOSE_OF_SEED),
  }
}

/** The signed text: identical for a request and for the agent's label for it, regardless of the order of their fields. */
function factsOf(kernel: Place & Omit<KernelSpec, 'authorizedKeys' | 'filesOf' | 'managerSignature'>): string {
  const { owner, image, devices } = kernel
  return JSON.stringify([
    kernel.managerId,
    kernel.agentId,
    kernel.sessionId,
    kernel.sessionName,
    kernel.kernelId,
    kernel.role,
    kernel.clusterSize ?? 1,
    kernel.attempt,
    owner.id,
    owner.email,
    kernel.resourceGroup,
    image.reference,
    image.digest,
    sorted(kernel.slots),
    kernel.shmemBytes,
    devices.map(({ uuid, slot, amount }) => [uuid, slot, amount]),
    sorted(kernel.environ),
    kernel.startupCommand,
    kernel.kind ?? null,
    kernel.requestedAt ?? null,
    // Absent facts are left out, because containers of older versions were signed without them.
    ...(kernel.folders
      ? [kernel.folders.map(({ storage, folder, path, readOnly }) => [storage, folder, path, readOnly])]
      : []),
    ...(kernel.runImageCommand ? ['runImageCommand'] : []),
    ...(kernel.cluster ? [{ cluster: kernel.cluster.id }] : []),
    ...(kernel.allowedNames ? [{ allowedNames: kernel.allowedNames }] : []),
    ...(kernel.launchedBy === undefined ? [] : [{ launchedBy: kernel.launchedBy }]),
    ...(kernel.tokenId === undefined ? [] : [{ tokenId: kernel.tokenId }]),
  ])
}

function sorted<T>(record: Readonly<Record<string, T>>): (readonly [string, T])[] {
  return Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1))
}
