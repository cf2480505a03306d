import { defined } from '#base/defined'
import { createKeyedMutex } from '#base/mutex'
import { type z } from 'zod'
import { type CommandState, COMMAND_PART_BYTES, type RequestReply } from '#agent/contract'
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
  isAppError,
  type SessionId,
  USUAL_COMMAND_SECONDS,
  type UserId,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type LongAnswers } from '../agent-link/long-answers.ts'
import { type Log } from '../log.ts'
import { listAgents } from '../store/agents/agents.ts'
import { newId } from '../store/new-id.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { type Store } from '../store/open-store.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { listActiveRoles } from '../store/identity/users.ts'
import { findSession, ownedOf, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { type Caller, canEnter } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'
import { requireEnterable } from './require-session.ts'

export interface CommandsOfSessionsDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly longAnswers: LongAnswers
  readonly isConnected: (agentId: AgentId) => boolean
  readonly log: Log
}

export interface OutputQuery {
  readonly stream: CommandStream
  readonly offset: number
  readonly encoding: 'utf8' | 'base64'
  readonly waitSeconds: number
}

/** A command that one request names. */
export interface CommandPlace {
  readonly id: SessionId
  readonly commandId: string
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
export interface CommandsOfSessions {
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
  /** Ends the commands of a person, or of all (undefined), in sessions that they may not use any more. Never rejects. */
  checkRights(userId?: UserId): Promise<void>
  /** The same for those of these people whose accounts were deactivated; null: those of anybody. Never rejects. */
  checkAccounts(userIds: ReadonlySet<UserId> | null): Promise<void>
  /** The same for all commands of an agent: rights may have been withdrawn while it had no connection. Never rejects. */
  checkAgent(agentId: AgentId): Promise<void>
}

/** The reader of an output, the agent that has it, and a signal that is aborted when the reader goes away. */
interface Reader {
  readonly agentId: AgentId
  readonly userId: UserId
  readonly signal: AbortSignal
}

const AGENT_TIMEOUT_MS = 15_000
const HOW = { timeoutMs: AGENT_TIMEOUT_MS, patient: true } as const
const MS = 1_000

export function createCommandsOfSessions({
  store,
  agents,
  longAnswers,
  isConnected,
  log,
}: CommandsOfSessionsDeps): CommandsOfSessions {
  const { db } = store
  const oneAtATime = createKeyedMutex()

  /** The agent of a running session that the caller may use, and one of its kernels. */
  async function placeOf(caller: Caller, id: SessionId, wanted?: string) {
    const session = await requireEnterable(db, caller, id, 'only_members_run_commands')
    const kernels = await listKernels(db, [id])
    const kernel = wanted === undefined ? kernels[0] : kernels.find(one => one.role === wanted || one.id === wanted)
    if (!kernel)
      throw new AppError('kernel_not_found', { kernel: wanted, ...because('kernel_unknown', { kernel: wanted ?? '' }) })
    if (session.status !== 'RUNNING' || !kernel.agent_id) throw notRunning(session)
    return { agentId: kernel.agent_id, kernelId: kernel.id }
  }

  /** After a wait for a command, or for a turn: sign-in and right may have ended meanwhile. */
  async function requireStill(caller: Caller, id: SessionId): Promise<void> {
    await requireStillSignedIn(db, caller)
    await requireEnterable(db, caller, id, 'only_members_run_commands')
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
    const timeoutMs = AGENT_TIMEOUT_MS + waitSeconds * MS
    return await agents.request(agentId, 'get_command', input, { timeoutMs, patient: true, signal })
  }

  async function read(from: Reader, { id, commandId }: CommandPlace, stream: CommandStream, offset: number) {
    const input = { sessionId: id, commandId, stream, offset }
    const reply = await longAnswers.ask(from, 'read_command', input, { ...HOW, signal: from.signal })
    const bytes = Buffer.from(reply.bytes, 'base64')
    // Nothing is there yet.
    if (bytes.length === 0) return { ...reply, offset, bytes }
    if (bytes.length > COMMAND_PART_BYTES || reply.offset < offset || reply.total < reply.offset + bytes.length)
      throw new AppError('agent_failed', because('agent_answer_unreadable', { request: 'read_command' }))
    return { ...reply, bytes }
  }

  /** All that is kept of a stream of a command that has ended. */
  async function whole(from: Reader, place: CommandPlace, stream: CommandStream) {
    const parts: Buffer[] = []
    const first = await read(from, place, stream, 0)
    let next = first.offset + first.bytes.length
    parts.push(first.bytes)
    // A hostile agent could go on for ever.
    while (next < first.total && parts.length < MOST_PARTS) {
      const part = await read(from, place, stream, next)
      if (part.bytes.length === 0) break
      parts.push(part.bytes)
      next = part.offset + part.bytes.length
    }
    return { text: Buffer.concat(parts).toString('utf8'), isCut: first.offset > 0 || next < first.total }
  }

  /** Whole outputs of one person come one after the other: many that grow together would fill the memory. */
  async function withOutput(from: Reader, found: CommandState): Promise<CommandResult> {
    if (found.end === null || found.attached) return toCommand(found)
    const place = { id: found.sessionId, commandId: found.id }
    const [stdout, stderr] = await oneAtATime(`${from.agentId} ${from.userId}`, async () => {
      from.signal.throwIfAborted()
      return [await whole(from, place, 'stdout'), await whole(from, place, 'stderr')]
    })
    return {
      ...toCommand(found),
      stdout: stdout.text,
      stderr: stderr.text,
      truncated: stdout.isCut || stderr.isCut,
    }
  }

  async function endIfLost(
    agentId: AgentId,
    { id, sessionId, userId }: CommandState,
    active: { has(userId: UserId): boolean },
  ): Promise<void> {
    const session = await findSession(db, sessionId)
    if (active.has(userId) && session && canEnter({ userId }, ownedOf(session))) return
    await agents.request(agentId, 'end_command', { sessionId, commandId: id }, HOW)
    log.info({ sessionId, userId }, 'a command was ended, because its user may not use the session any more')
  }

  async function check(agentId: AgentId, userId?: UserId): Promise<void> {
    try {
      const { commands } = await agents.request(agentId, 'list_commands', defined({ userId }), {
        timeoutMs: AGENT_TIMEOUT_MS,
      })
      const running = commands.filter(({ end }) => end === null)
      const active = await listActiveRoles(db, [...new Set(running.map(command => command.userId))])
      for (const command of running) await endIfLost(agentId, command, active)
    } catch (error) {
      // An agent of an earlier version has no commands. One that has gone is asked when it comes back.
      if (isAppError(error) && (error.code === 'agent_failed' || error.code === 'agent_unreachable')) return
      log.warn({ err: error, agentId, userId }, UNCHECKED)
    }
  }

  async function checkRights(userId?: UserId): Promise<void> {
    try {
      const connected = (await listAgents(db)).filter(({ id }) => isConnected(id))
      await Promise.all(connected.map(({ id }) => check(id, userId)))
    } catch (error) {
      log.error({ err: error, userId }, UNCHECKED)
    }
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
        const started = await agents.request(agentId, 'start_command', input, HOW)
        // A right that was withdrawn in between did not find the command yet.
        await requireStill(caller, id).catch(async (error: unknown) => {
          await agents.request(agentId, 'end_command', { sessionId: id, commandId }, HOW)
          throw error
        })
        if (spec.waitSeconds === 0 || spec.attached) return await withOutput({ agentId, userId, signal }, started)
      }
      const found = await state(agentId, { id, commandId }, { waitSeconds: spec.waitSeconds, signal })
      const result = await withOutput({ agentId, userId, signal }, found)
      await requireStill(caller, id)
      return result
    },
    async list(caller, id) {
      const { agentId } = await placeOf(caller, id)
      const { commands } = await agents.request(agentId, 'list_commands', { sessionId: id }, HOW)
      return commands.map(toCommand)
    },
    async get(caller, place, { waitSeconds, signal }) {
      const { agentId } = await placeOf(caller, place.id)
      const found = await state(agentId, place, { waitSeconds, signal })
      const result = await withOutput({ agentId, userId: caller.userId, signal }, found)
      await requireStill(caller, place.id)
      return result
    },
    async output(caller, place, { stream, offset, encoding, waitSeconds, signal }) {
      const { agentId } = await placeOf(caller, place.id)
      const next = async (past: number) => {
        if (waitSeconds > 0) await state(agentId, place, { waitSeconds, past: { stream, bytes: past }, signal })
        const part = await read({ agentId, userId: caller.userId, signal }, place, stream, offset)
        await requireStill(caller, place.id)
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
      return toCommand(await agents.request(agentId, 'end_command', { sessionId, commandId }, HOW))
    },
    checkRights,
    async checkAccounts(userIds) {
      if (userIds === null) {
        await checkRights()
        return
      }
      try {
        // Most changes deactivate nobody, and no agent is asked then.
        const active = await listActiveRoles(db, [...userIds])
        const [first, ...others] = [...userIds].filter(id => !active.has(id))
        if (first !== undefined) await checkRights(others.length === 0 ? first : undefined)
      } catch (error) {
        log.error({ err: error }, UNCHECKED)
      }
    },
    checkAgent: agentId => check(agentId),
  }
}

const UNCHECKED = 'commands were not checked after a change of rights'

/** Parts of a stream that are read: more than what an agent keeps. */
const MOST_PARTS = 8

function notRunning({ id, status }: OwnedSessionRow): AppError {
  return new AppError('session_not_running', { sessionId: id, ...because('session_is', { status }) })
}

function toCommand({
  id,
  sessionId,
  kernelId,
  shown,
  attached,
  startedAt,
  ranMs,
  end,
  ...bytes
}: CommandState): Command {
  const { stdoutBytes, stderrBytes } = bytes
  return {
    id,
    sessionId,
    kernelId,
    command: shown,
    attached,
    status: end === null ? 'RUNNING' : 'ENDED',
    startedAt,
    seconds: Math.round(ranMs) / MS,
    exitCode: end?.exitCode ?? null,
    reason: end?.reason ?? null,
    stdoutBytes,
    stderrBytes,
  }
}

/** A character of a text whose last bytes are not there yet is left to the next part. */
function toOutput(
  { offset, bytes, total, ended }: Omit<RequestReply<'read_command'>, 'bytes'> & { readonly bytes: Buffer },
  encoding: OutputQuery['encoding'],
): CommandOutput {
  const isLast = ended && offset + bytes.length >= total
  const length = isLast || encoding === 'base64' ? bytes.length : wholeCharacters(bytes)
  return { offset, text: bytes.toString(encoding, 0, length), next: offset + length, ended: isLast }
}

/** Bytes of a text in UTF-8 up to a last character that is cut off. Exported for its test. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
