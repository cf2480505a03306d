import { type z } from 'zod'
import {
  type AgentId,
  AppError,
  because,
  type Command,
  CommandId,
  type CommandOutput,
  type CommandResult,
  type CommandSpec,
  type CommandStream,
  type SessionId,
  USUAL_COMMAND_SECONDS,
} from '#manager/contract'
import { type LongAnswers } from '../agent-link/long-answers.ts'
import { newId } from '../store/new-id.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { type Store } from '../store/open-store.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { type Caller } from '../users/authorize.ts'
import { type CommandPlace, createCommandOutputs } from './command-output.ts'
import { toCommand, toOutput } from './command-view.ts'
import {
  type CommandsOfLostRights,
  type CommandsOfLostRightsDeps,
  createCommandsOfLostRights,
} from './commands-of-lost-rights.ts'
import { kernelNamed } from './kernel-named.ts'
import { requireEnterable } from './require-session.ts'
import { ASKED, requireStillRuns, startCommand } from './start-command.ts'

export interface CommandsOfSessionsDeps extends CommandsOfLostRightsDeps {
  readonly store: Store
  readonly longAnswers: LongAnswers
}

export interface OutputQuery {
  readonly stream: CommandStream
  readonly offset: number
  readonly encoding: 'utf8' | 'base64'
  readonly waitSeconds: number
}

/**
 * Commands in sessions, run by their agents, which keep the state and the end of the output. So a command outlives this manager, and not its
 * agent.
 *
 * Threat model: who may open a terminal in a session may run commands in it, and read and end those of the others who may: all of them are
 * the same user there. The right is read at each request. A person who loses it, or whose account is deactivated, loses the commands
 * too: the agents are asked for theirs.
 * Output is data of hostile programs, bounded by the agent, and by what is read here.
 */
export interface CommandsOfSessions extends CommandsOfLostRights {
  /**
   * @throws AppError `session_not_found`, `forbidden`, `session_not_running`, `kernel_not_found`, `commands_at_most`, `agent_unreachable`,
   *   `agent_failed` (an agent of an earlier version)
   */
  run(
    caller: Caller,
    id: SessionId,
    spec: z.output<typeof CommandSpec>,
    how: { readonly keyed: KeyedRequest | undefined; readonly signal: AbortSignal },
  ): Promise<CommandResult>
  list(caller: Caller, id: SessionId): Promise<Command[]>
  /** @throws AppError those of `run`, `command_not_found` */
  get(caller: Caller, place: CommandPlace, how: { waitSeconds: number; signal: AbortSignal }): Promise<CommandResult>
  output(caller: Caller, place: CommandPlace, how: OutputQuery & { signal: AbortSignal }): Promise<CommandOutput>
  end(caller: Caller, place: CommandPlace): Promise<Command>
}

const MS = 1_000

export function createCommandsOfSessions({
  store,
  agents,
  longAnswers,
  isConnected,
  log,
}: CommandsOfSessionsDeps): CommandsOfSessions {
  const { db } = store
  const outputs = createCommandOutputs(longAnswers)

  /** The agent of a running session that the caller may use, and one of its kernels. */
  async function placeOf(caller: Caller, id: SessionId, wanted?: string) {
    const session = await requireEnterable(db, caller, id, 'only_members_run_commands')
    const kernels = await listKernels(db, [id])
    const kernel = kernelNamed(kernels, wanted ?? kernels[0]?.role ?? '')
    if (session.status !== 'RUNNING' || !kernel.agent_id) throw notRunning(session)
    return { agentId: kernel.agent_id, kernelId: kernel.id }
  }

  async function state(
    agentId: AgentId,
    { id, commandId }: CommandPlace,
    {
      waitSeconds,
      past,
      signal,
    }: { waitSeconds: number; past?: { stream: CommandStream; bytes: number }; signal: AbortSignal },
  ) {
    const input = { sessionId: id, commandId, waitMs: waitSeconds * MS, ...(past && { past }) }
    const timeoutMs = ASKED.timeoutMs + waitSeconds * MS
    return await agents.request(agentId, 'get_command', input, { timeoutMs, patient: true, signal })
  }

  return {
    async run(caller, id, spec, { keyed, signal }) {
      const { userId } = caller
      const { agentId, kernelId } = await placeOf(caller, id, spec.kernel)
      const [earlier] = keyed?.created ?? []
      const commandId = earlier ?? newId(CommandId)
      if (earlier === undefined) {
        if (keyed) await store.transaction(trx => keyed.noteCreated(trx, [commandId]))
        const seconds = spec.timeoutSeconds ?? (spec.attached ? null : USUAL_COMMAND_SECONDS)
        const input = {
          kernelId,
          commandId,
          userId,
          command: spec.command,
          environ: spec.environ,
          workingDirectory: spec.workingDirectory ?? null,
          stdin: spec.stdin ?? '',
          timeoutMs: seconds === null ? null : seconds * MS,
          attached: spec.attached,
        }
        const how = { agentId, sessionId: id, input, requireStill: () => requireStillRuns(db, caller, id) }
        const started = await startCommand(agents, how)
        if (spec.waitSeconds === 0 || spec.attached)
          return await outputs.withOutput({ agentId, userId, signal }, started)
      }
      const found = await state(agentId, { id, commandId }, { waitSeconds: spec.waitSeconds, signal })
      const result = await outputs.withOutput({ agentId, userId, signal }, found)
      await requireStillRuns(db, caller, id)
      return result
    },
    async list(caller, id) {
      const { agentId } = await placeOf(caller, id)
      const { commands } = await agents.request(agentId, 'list_commands', { sessionId: id }, ASKED)
      return commands.map(toCommand)
    },
    async get(caller, place, { waitSeconds, signal }) {
      const { agentId } = await placeOf(caller, place.id)
      const found = await state(agentId, place, { waitSeconds, signal })
      const result = await outputs.withOutput({ agentId, userId: caller.userId, signal }, found)
      await requireStillRuns(db, caller, place.id)
      return result
    },
    async output(caller, place, { stream, offset, encoding, waitSeconds, signal }) {
      const { agentId } = await placeOf(caller, place.id)
      const next = async (past: number) => {
        if (waitSeconds > 0) await state(agentId, place, { waitSeconds, past: { stream, bytes: past }, signal })
        const part = await outputs.read({ agentId, userId: caller.userId, signal }, place, stream, offset)
        await requireStillRuns(db, caller, place.id)
        return part
      }
      const found = await next(offset)
      const part = toOutput(found, encoding)
      if (part.text !== '' || part.ended || waitSeconds === 0) return part
      // Only the beginning of a character is there: a client that asks again at once would go on asking.
      return toOutput(await next(found.offset + found.bytes.length), encoding)
    },
    async end(caller, place) {
      const { agentId } = await placeOf(caller, place.id)
      const { id: sessionId, commandId } = place
      return toCommand(await agents.request(agentId, 'end_command', { sessionId, commandId }, ASKED))
    },
    ...createCommandsOfLostRights({ store, agents, isConnected, log }),
  }
}

function notRunning({ id, status }: OwnedSessionRow): AppError {
  return new AppError('session_not_running', { sessionId: id, ...because('session_is', { status }) })
}
