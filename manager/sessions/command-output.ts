import { createKeyedMutex } from '#base/mutex'
import { type CommandState, COMMAND_PART_BYTES, type RequestReply } from '#agent/contract'
import {
  type AgentId,
  AppError,
  because,
  type CommandResult,
  type CommandStream,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type LongAnswers } from '../agent-link/long-answers.ts'
import { toCommand } from './command-view.ts'

/** A command that one request names. */
export interface CommandPlace {
  readonly id: SessionId
  readonly commandId: string
}

/** The reader of an output, the agent that has it, and a signal that is aborted when the reader goes away. */
export interface Reader {
  readonly agentId: AgentId
  readonly userId: UserId
  readonly signal: AbortSignal
}

/** Bytes of a stream from an offset on; none if nothing is there yet. */
type Part = Omit<RequestReply<'read_command'>, 'bytes'> & { readonly bytes: Buffer }

/** Reads the outputs of commands from their agents. Output is data of hostile programs, and agents may be hostile too: all is bounded. */
export interface CommandOutputs {
  /** @throws AppError `agent_unreachable`, `agent_failed`, `command_not_found` */
  read(from: Reader, place: CommandPlace, stream: CommandStream, offset: number): Promise<Part>
  /** The state of a command, with all that is kept of its output if it has ended. @throws as `read` */
  withOutput(from: Reader, found: CommandState): Promise<CommandResult>
}

/** Agents answer at once. */
const HOW = { timeoutMs: 15_000, patient: true } as const
/** Parts of a stream that are read: more than what an agent keeps. */
const MOST_PARTS = 8

export function createCommandOutputs(longAnswers: LongAnswers): CommandOutputs {
  const oneAtATime = createKeyedMutex()

  async function read(
    from: Reader,
    { id, commandId }: CommandPlace,
    stream: CommandStream,
    offset: number,
  ): Promise<Part> {
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

  return { read, withOutput }
}
