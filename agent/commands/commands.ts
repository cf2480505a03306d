import { type Duplex } from 'node:stream'
import { COMMAND_PART_BYTES, type CommandState, type RequestInput, type RequestReply } from '#agent/contract'
import {
  AppError,
  because,
  type CommandEnd,
  type CommandStream,
  KEPT_OUTPUT_BYTES,
  shownCommand,
} from '#manager/contract'
import { fromEngine } from '../docker/engine-client.ts'
import { requireRoom } from '../docker/session-exec.ts'
import { type Log } from '../log.ts'
import { type Kernels } from '../running-kernel.ts'
import { attachedStream } from './attached-stream.ts'
import { changed, type Entry, stateOf, tellChanged } from './command-entry.ts'
import { createKeptCommands } from './kept-commands.ts'
import { createKeptOutput } from './kept-output.ts'
import { type Place, runCommand } from './running-command.ts'

export interface Commands extends AsyncDisposable {
  start(input: RequestInput<'start_command'>): Promise<CommandState>
  get(input: RequestInput<'get_command'>, signal: AbortSignal): Promise<CommandState>
  read(input: RequestInput<'read_command'>): RequestReply<'read_command'>
  end(input: RequestInput<'end_command'>): Promise<CommandState>
  list(input: RequestInput<'list_commands'>): RequestReply<'list_commands'>
  /**
   * The stream of an attached command, which starts now. One command has one stream.
   * @throws AppError `command_not_found`
   */
  attach(sessionId: string, commandId: string): Duplex
}

export interface CommandsDeps {
  readonly kernels: Pick<Kernels, 'find'>
  readonly docker: Place['docker']
  readonly log: Log
  readonly run?: typeof runCommand
  readonly requireRoom?: typeof requireRoom
  readonly now?: () => number
}

/** Commands that one person may run at once on this host. With two streams each, 32 MiB of output. */
export const MOST_OF_PERSON = 16
/** An attached command waits this long for its stream. */
const ATTACH_MS = 30_000
/** An end is told in the reply if it comes within this time. */
const END_WAIT_MS = 12_000
/** The engine ends what is left when this process is gone. */
const LAST_WAIT_MS = 3_000

/**
 * The commands that people run in sessions of this host, with the end of their output.
 *
 * Threat model: commands and people are hostile to other people. Memory is bounded for each person: commands that run, the last bytes of
 * their streams, and what is kept after the end. Who may run and read them is the manager's question; a command is found only together with
 * its session. A command ends with its session, with its time, and with this process, which kills it (`running-command.ts`).
 */
export function createCommands({
  kernels,
  docker,
  log,
  run = runCommand,
  requireRoom: needRoom = requireRoom,
  now = () => performance.now(),
}: CommandsDeps): Commands {
  const kept = createKeptCommands(now)
  const shownNow = (entry: Entry) => stateOf(entry, now())

  function finish(entry: Entry, end: CommandEnd): void {
    if (entry.end) return
    entry.end = end
    entry.endedAt = now()
    entry.input = { ...entry.input, command: [''], environ: {}, stdin: '' }
    clearTimeout(entry.timer)
    kept.makeRoom(entry.input.userId)
    tellChanged(entry)
  }

  /** Starts the command itself. @throws AppError `commands_at_most`, `engine_unreachable`, `disk_full`, `internal` */
  async function launch(entry: Entry, onOutput: (stream: CommandStream, bytes: Buffer) => void) {
    const { input, place } = entry
    try {
      const running = await run(place, input, onOutput)
      entry.started.resolve(running)
      void running.ended.then(end => finish(entry, end))
      if (entry.end) running.kill('killed')
      else limit(entry)
      return running
    } catch (error) {
      const fault = error instanceof AppError ? error : fromEngine(error, 'internal')
      entry.started.reject(fault)
      finish(entry, { reason: 'lost', exitCode: null })
      throw fault
    }
  }

  function limit(entry: Entry): void {
    const { timeoutMs } = entry.input
    clearTimeout(entry.timer)
    if (timeoutMs === null) return
    entry.timer = setTimeout(() => {
      entry.started.promise.then(running => running.kill('time_limit')).catch(() => undefined)
    }, timeoutMs)
  }

  return {
    async start(input) {
      const known = kept.get(input.commandId)
      if (known) return shownNow(known)
      const kernel = kernels.find(input.kernelId)
      if (!kernel) throw new AppError('kernel_not_found', { kernelId: input.kernelId })
      if (kept.running(input.userId) >= MOST_OF_PERSON)
        throw new AppError('commands_at_most', because('commands_of_person', { limit: MOST_OF_PERSON }))
      const { containerId, user, sessionId } = kernel
      if (input.attached) needRoom(containerId)
      const entry: Entry = {
        input,
        shown: shownCommand(input.command),
        place: { docker, containerId, user },
        sessionId,
        startedAt: new Date(),
        begun: now(),
        output: { stdout: createKeptOutput(KEPT_OUTPUT_BYTES), stderr: createKeptOutput(KEPT_OUTPUT_BYTES) },
        started: Promise.withResolvers(),
        waiters: new Set(),
        hasStream: false,
        end: null,
        endedAt: 0,
        timer: undefined,
      }
      entry.started.promise.catch(() => undefined)
      kept.add(input.commandId, entry)
      if (input.attached) {
        entry.timer = setTimeout(() => finish(entry, { reason: 'killed', exitCode: null }), ATTACH_MS)
        return shownNow(entry)
      }
      const running = await launch(entry, (stream, bytes) => {
        entry.output[stream].push(bytes)
        tellChanged(entry)
      })
      const stdin = Buffer.from(input.stdin)
      if (stdin.length === 0) running.endInput()
      else running.write(stdin, () => running.endInput())
      return shownNow(entry)
    },
    async get({ sessionId, commandId, waitMs, past }, signal) {
      const entry = kept.find(sessionId, commandId)
      const isDone = () => entry.end !== null || (past !== undefined && entry.output[past.stream].total > past.bytes)
      await changed(entry, isDone, waitMs, signal)
      return shownNow(entry)
    },
    read({ sessionId, commandId, stream, offset }) {
      const { output, end } = kept.find(sessionId, commandId)
      const { total } = output[stream]
      const read = output[stream].read(offset, COMMAND_PART_BYTES)
      return { offset: read.offset, bytes: read.bytes.toString('base64'), total, ended: end !== null }
    },
    async end({ sessionId, commandId }) {
      const entry = kept.find(sessionId, commandId)
      if (entry.input.attached && !entry.hasStream) finish(entry, { reason: 'killed', exitCode: null })
      entry.started.promise.then(running => running.kill('killed')).catch(() => undefined)
      await changed(entry, () => entry.end !== null, END_WAIT_MS)
      return shownNow(entry)
    },
    list({ sessionId, userId }) {
      kept.sweep()
      const wanted = kept
        .all()
        .filter(
          entry =>
            (sessionId === undefined || entry.sessionId === sessionId) &&
            (userId === undefined || entry.input.userId === userId),
        )
      return { commands: wanted.map(shownNow).toReversed() }
    },
    attach(sessionId, commandId) {
      const entry = kept.get(commandId)
      if (entry?.sessionId !== sessionId || !entry.input.attached || entry.hasStream || entry.end)
        throw new AppError('command_not_found', because('command_not_attached'))
      entry.hasStream = true
      clearTimeout(entry.timer)
      return attachedStream(async onOutput => {
        try {
          return await launch(entry, onOutput)
        } catch (error) {
          log.warn({ err: error, sessionId }, 'an attached command could not be started')
          throw error
        }
      })
    },
    async [Symbol.asyncDispose]() {
      kept[Symbol.dispose]()
      const live = kept.all().filter(({ end }) => end === null)
      for (const entry of live) {
        clearTimeout(entry.timer)
        entry.started.promise.then(running => running.kill('killed')).catch(() => undefined)
      }
      const ends = live.filter(({ input, hasStream }) => !input.attached || hasStream)
      await Promise.all(ends.map(entry => changed(entry, () => entry.end !== null, LAST_WAIT_MS)))
    },
  }
}
