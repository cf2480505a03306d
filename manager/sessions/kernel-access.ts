import { AppError, because, type AgentId, type KernelId, type SessionId, type SshAccess } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Db } from '../store/schema.ts'
import { isCut } from '../store/sessions/kept-log.ts'
import { type KernelRow, listKernels } from '../store/sessions/kernels.ts'
import { type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { fingerprintOfLine } from '../users/ssh-public-key.ts'

export interface KernelAccessDeps {
  readonly db: Db
  readonly agents: AgentRequests
}

/** Data that only the agent of a session has: logs of its running kernels, and its SSH key. Access rules are the caller's. */
export interface KernelAccess {
  /** @throws AppError `agent_unreachable`, `kernel_not_found` */
  logs(
    id: SessionId,
    query: { readonly tail: number; readonly kernel?: string | undefined; readonly timestamps?: boolean | undefined },
  ): Promise<{ text: string; truncated: boolean }>
  /** @throws AppError `session_not_running`, `agent_unreachable` */
  sshAccess(session: OwnedSessionRow): Promise<SshAccess>
}

const AGENT_TIMEOUT_MS = 15_000
const HOW = { timeoutMs: AGENT_TIMEOUT_MS, patient: true } as const

export function createKernelAccess({ db, agents }: KernelAccessDeps): KernelAccess {
  async function mainKernel(id: SessionId): Promise<KernelRow> {
    const [kernel] = await listKernels(db, [id])
    if (!kernel) throw new Error(`session ${id} has no kernel`)
    return kernel
  }

  async function kernelNamed(id: SessionId, wanted: string): Promise<KernelRow> {
    const kernel = (await listKernels(db, [id])).find(one => one.role === wanted || one.id === wanted)
    if (kernel) return kernel
    throw new AppError('kernel_not_found', { kernel: wanted, ...because('kernel_unknown', { kernel: wanted }) })
  }

  async function runningKernel(session: OwnedSessionRow): Promise<{ kernelId: KernelId; agentId: AgentId }> {
    const kernel = await mainKernel(session.id)
    if (session.status === 'RUNNING' && kernel.agent_id) return { kernelId: kernel.id, agentId: kernel.agent_id }
    throw new AppError('session_not_running', {
      sessionId: session.id,
      ...because('session_is', { status: session.status }),
    })
  }

  return {
    async logs(id, { tail, kernel: wanted, timestamps }) {
      const kernel = wanted === undefined ? await mainKernel(id) : await kernelNamed(id, wanted)
      if (kernel.status === 'RUNNING' && kernel.agent_id)
        return agents.request(kernel.agent_id, 'get_logs', { kernelId: kernel.id, tail, timestamps }, HOW)
      return lastLines(kernel.log_tail ?? '', tail)
    },
    async sshAccess(session) {
      const { kernelId, agentId } = await runningKernel(session)
      const ssh = await agents.request(agentId, 'get_ssh', { kernelId }, HOW)
      return { ...ssh, hostKeyFingerprint: fingerprintOfLine(ssh.hostKey) }
    },
  }
}

function lastLines(text: string, tail: number): { text: string; truncated: boolean } {
  const lines = text.split('\n')
  // A text that ends with a line feed has no last line after it.
  const ended = lines.at(-1) === ''
  const kept = lines.slice(-(tail + (ended ? 1 : 0)))
  return { text: kept.join('\n'), truncated: kept.length < lines.length || isCut(text) }
}
