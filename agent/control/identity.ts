import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { controlSignaturePayload } from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { AgentId, AppError, ManagerId } from '#manager/contract'

/** The manager that accepted this agent's key. */
export const KnownManager = z.object({
  managerId: ManagerId,
  url: z.string(),
  fingerprint: z.string().optional(),
  /** SHA-256 of the key with which the manager's processes prove their identity; pinned when this agent joined, or first met it. */
  managerKey: z.string().optional(),
  /** Last known addresses of the manager's other processes. */
  urls: z.array(z.string()).optional(),
})
export type KnownManager = z.infer<typeof KnownManager>

const Stored = z.object({
  agentId: AgentId,
  manager: KnownManager.optional(),
  /** Ids of containers that are ours according to the manager, although their labels are not signed with our key. */
  containers: z.array(z.string()).optional(),
})

/**
 * Identity of this agent: DATA/agent/agent.json, key.pem (Ed25519, PKCS #8) and label.key (32 bytes), each 0600 in a directory
 * 0700. Threat model: a reader of key.pem can impersonate this agent to its manager; a reader of label.key can make any container look
 * like a session.
 */
export interface Identity {
  readonly agentId: AgentId
  /** SPKI, base64. */
  readonly publicKey: string
  readonly labelKey: Buffer
  readonly manager: KnownManager | undefined
  /**
   * Containers made by the agent that this one replaced. Its label key is lost with its data, so the agent trusts the manager's list. A
   * container id is never reused, and a container's labels never change.
   */
  readonly inherited: ReadonlySet<string>
  /** Base64 signature over `controlSignaturePayload`. */
  sign(nonce: string, managerId: ManagerId): string
  remember(manager: KnownManager): Promise<void>
  /** Sets the inherited containers; they are written with the next `remember`. */
  inherit(containers: readonly string[]): void
}

export interface IdentityOptions {
  /** The agent to replace; only for a directory that has not joined yet. */
  readonly replaces?: AgentId | undefined
  /** Id from the join string; used for a first join only, because an agent that the manager knows keeps its own. */
  readonly given?: AgentId | undefined
  /** The key of the manager that made the join string. */
  readonly managerKey?: string | undefined
}

/**
 * @throws `config_invalid` if the files are damaged (a new identity in their place would orphan running sessions), or if this
 * agent is to replace another one and the directory already belongs to a different agent
 */
export async function openIdentity(
  directory: string,
  { replaces, given, managerKey }: IdentityOptions = {},
): Promise<Identity> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  const statePath = join(directory, 'agent.json')
  const [pem, labelKey, text] = await Promise.all([
    readOrCreate(join(directory, 'key.pem'), () =>
      Buffer.from(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })),
    ),
    readOrCreate(join(directory, 'label.key'), () => randomBytes(32)),
    readOrCreate(statePath, () => Buffer.from(JSON.stringify({ agentId: replaces ?? given ?? newAgentId() }))),
  ])
  const key = readKey(pem, directory)
  const stored = Stored.safeParse(parseJson(text.toString('utf8')))
  if (!stored.success || labelKey.length !== 32) {
    throw new AppError('config_invalid', { why: `The files in ${directory} are damaged. Restore them from a backup.` })
  }
  let { manager, containers = [] } = stored.data
  // Another manager makes its own id for this agent; the old id becomes invalid once that manager has accepted the agent.
  const isElsewhere = manager?.managerKey !== undefined && managerKey !== undefined && manager.managerKey !== managerKey
  const wanted = manager === undefined ? (replaces ?? given) : isElsewhere ? given : undefined
  const agentId = wanted ?? stored.data.agentId
  if (replaces && agentId !== replaces) {
    throw new AppError('config_invalid', {
      why: `${directory} belongs to agent ${agentId}. Start with a new data directory to replace ${replaces}.`,
    })
  }
  let writing = Promise.resolve()
  return {
    agentId,
    publicKey: createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64'),
    labelKey,
    get manager() {
      return manager
    },
    get inherited() {
      return new Set(containers)
    },
    sign: (nonce, managerId) =>
      sign(null, Buffer.from(controlSignaturePayload(nonce, managerId, agentId)), key).toString('base64'),
    remember(known) {
      manager = known
      // Writes are serialized: two connections may receive something at the same moment.
      writing = writing
        .catch(() => undefined)
        .then(() => replaceFile(statePath, JSON.stringify({ agentId, manager: known, containers })))
      return writing
    },
    inherit: ids => void (containers = [...ids]),
  }
}

function readKey(pem: Buffer, directory: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw new AppError(
      'config_invalid',
      { why: `${directory}/key.pem is damaged. Restore it from a backup.` },
      { cause: error },
    )
  }
}

async function readOrCreate(path: string, make: () => Buffer): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    const content = make()
    await replaceFile(path, content)
    return content
  }
}

/** Replaces a file atomically: an agent that cannot read its id would lose its sessions. */
async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  await writeFile(`${path}.new`, content, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
}

/** Placeholder of an agent that has no join string; no manager accepts it. UUIDv7, RFC 9562 section 5.7. */
function newAgentId(): AgentId {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return AgentId.parse(bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))
}
