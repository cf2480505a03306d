import { type RequestInput, type RequestReply } from '#agent/contract'
import { type AgentId, type SessionId } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'
import { requireEnterable } from './require-session.ts'

/** How agents are asked about commands; a wait for the command itself comes on top. */
export const ASKED = { timeoutMs: 15_000, patient: true } as const

/** After a wait for a command, or for a turn: sign-in and right may have ended meanwhile. @throws AppError */
export async function requireStillRuns(db: Db, caller: Caller, id: SessionId): Promise<void> {
  await requireStillSignedIn(db, caller)
  await requireEnterable(db, caller, id, 'only_members_run_commands')
}

interface CommandStart {
  readonly agentId: AgentId
  readonly sessionId: SessionId
  readonly input: RequestInput<'start_command'>
  /** Rejects if the right to the command has ended. */
  readonly requireStill: () => Promise<void>
}

/** Starts a command in a session. A right that was withdrawn in between did not find the command yet, so it is read once more. @throws AppError */
export async function startCommand(
  agents: AgentRequests,
  { agentId, sessionId, input, requireStill }: CommandStart,
): Promise<RequestReply<'start_command'>> {
  const started = await agents.request(agentId, 'start_command', input, ASKED)
  await requireStill().catch(async (error: unknown) => {
    await agents.request(agentId, 'end_command', { sessionId, commandId: input.commandId }, ASKED)
    throw error
  })
  return started
}
