import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { defined } from '#base/defined'
import {
  AppError,
  because,
  isAppError,
  type AgentId,
  type KernelId,
  type LogPart,
  type SessionId,
  SshAccess,
  type UserId,
} from '#manager/contract'
import { LOG_CUT, LOG_PART_BYTES } from '#agent/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type LongAnswers } from '../agent-link/long-answers.ts'
import { type Db } from '../store/schema.ts'
import { isCut } from '../store/sessions/kept-log.ts'
import { type KernelRow, listKernels } from '../store/sessions/kernels.ts'
import { type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { fingerprintOfLine } from '../users/ssh-public-key.ts'
import { kernelNamed } from './kernel-named.ts'

export interface KernelAccessDeps {
  readonly db: Db
  readonly agents: AgentRequests
  readonly longAnswers: LongAnswers
}

/** The person who reads a log, and a signal that is aborted when they go away. */
export interface LogReader {
  readonly userId: UserId
  readonly signal?: AbortSignal | undefined
}

/** Data that only the agent of a session has: logs of its running kernels, and its SSH key. Access rules are the caller's. */
export interface KernelAccess {
  /** @throws AppError `agent_unreachable`, `kernel_not_found` */
  logs(
    id: SessionId,
    query: { readonly tail: number; readonly kernel?: string | undefined; readonly timestamps?: boolean | undefined },
    reader: LogReader,
  ): Promise<{ text: string; truncated: boolean }>
  /**
   * The stored part of the log, in pieces. While the kernel runs there is one piece, with its last megabyte.
   *
   * @throws AppError `agent_unreachable`, `kernel_not_found`; `files_gone` if a piece after the first one is not stored any more
   */
  logPart(
    id: SessionId,
    query: { readonly kernel?: string | undefined; readonly part?: number | undefined },
    reader: LogReader,
  ): Promise<LogPart>
  /** @throws AppError `session_not_running`, `agent_unreachable` */
  sshAccess(session: OwnedSessionRow): Promise<SshAccess>
}

const AGENT_TIMEOUT_MS = 15_000
const MOST_LINES = 50_000
const HOW = { timeoutMs: AGENT_TIMEOUT_MS, patient: true } as const

export function createKernelAccess({ db, agents, longAnswers }: KernelAccessDeps): KernelAccess {
  async function mainKernel(id: SessionId): Promise<KernelRow> {
    const [kernel] = await listKernels(db, [id])
    if (!kernel) throw new Error(`session ${id} has no kernel`)
    return kernel
  }

  async function kernelOf(id: SessionId, wanted: string | undefined): Promise<KernelRow> {
    return wanted === undefined ? mainKernel(id) : kernelNamed(await listKernels(db, [id]), wanted)
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
    async logs(id, { tail, kernel: wanted, timestamps }, { userId, signal }) {
      const kernel = await kernelOf(id, wanted)
      if (kernel.status === 'RUNNING' && kernel.agent_id) {
        const live = { kernelId: kernel.id, tail, timestamps }
        return await longAnswers.ask({ agentId: kernel.agent_id, userId }, 'get_logs', live, { ...HOW, signal })
      }
      return lastLines(kernel.log_tail ?? '', tail)
    },
    async logPart(id, { kernel: wanted, part }, { userId, signal }) {
      const kernel = await kernelOf(id, wanted)
      const stored = kernel.log_tail ?? ''
      if (kernel.status === 'RUNNING' && kernel.agent_id) {
        const last = { kernelId: kernel.id, tail: MOST_LINES }
        const from = { agentId: kernel.agent_id, userId }
        return { ...(await longAnswers.ask(from, 'get_logs', last, { ...HOW, signal })), next: null }
      }
      // An agent that stopped right after the end of the kernel may not have sent the end of the log.
      const isWhole = stored !== '' && !isCut(stored)
      if (isWhole || !kernel.agent_id) return { text: stored, next: null, truncated: isCut(stored) }
      try {
        const kept = { kernelId: kernel.id, ...defined({ part }) }
        const from = { agentId: kernel.agent_id, userId }
        const found = await longAnswers.ask(from, 'read_kept_log', kept, { ...HOW, signal })
        // An endless list would keep a download busy for ever.
        if (found.next !== null && found.next <= (part ?? 0)) throw unreadable('read_kept_log')
        const text = await unpackPart(found.packed)
        const isFirstOfCut = part === undefined && found.truncated
        return { text: isFirstOfCut ? `${LOG_CUT}\n${text}` : text, next: found.next, truncated: found.truncated }
      } catch (error) {
        // Only the end of the log is left, and its text mentions this. An agent of an earlier version stores no more.
        const isGone = isAppError(error) && (error.code === 'files_gone' || error.code === 'agent_failed')
        if (!isGone || part !== undefined) throw error
        return { text: stored, next: null, truncated: isCut(stored) }
      }
    },
    async sshAccess(session) {
      const { kernelId, agentId } = await runningKernel(session)
      const ssh = await agents.request(agentId, 'get_ssh', { kernelId }, HOW)
      // An agent is free to send any text. What no client could use is a fault of its host, not of this manager.
      const access = SshAccess.safeParse({ ...ssh, hostKeyFingerprint: fingerprintOfLine(ssh.hostKey) })
      if (!access.success) throw unreadable('get_ssh', access.error)
      return access.data
    },
  }
}

const unpack = promisify(gunzip)
const unreadable = (request: 'get_ssh' | 'read_kept_log', cause?: unknown) =>
  new AppError('agent_failed', because('agent_answer_unreadable', { request }), { cause })

/** @throws AppError `agent_failed` for anything that is not a part of a log: an agent may send anything */
async function unpackPart(packed: string): Promise<string> {
  try {
    return (await unpack(Buffer.from(packed, 'base64'), { maxOutputLength: LOG_PART_BYTES })).toString('utf8')
  } catch (error) {
    throw unreadable('read_kept_log', error)
  }
}

function lastLines(text: string, tail: number): { text: string; truncated: boolean } {
  const lines = text.split('\n')
  // A text that ends with a line feed has no last line after it.
  const ended = lines.at(-1) === ''
  const kept = lines.slice(-(tail + (ended ? 1 : 0)))
  return { text: kept.join('\n'), truncated: kept.length < lines.length || isCut(text) }
}
