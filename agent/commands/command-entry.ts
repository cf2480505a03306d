import { type CommandState, type RequestInput } from '#agent/contract'
import { type CommandEnd, type CommandStream } from '#manager/contract'
import { type KeptOutput } from './kept-output.ts'
import { type Place, type RunningCommand } from './running-command.ts'

/** A command of a session, running or ended. */
export interface Entry {
  /** Without the words, the variables and the input once the command has ended: they may be long. */
  input: RequestInput<'start_command'>
  readonly shown: string
  readonly place: Place
  readonly sessionId: CommandState['sessionId']
  readonly startedAt: Date
  readonly begun: number
  readonly output: Readonly<Record<CommandStream, KeptOutput>>
  readonly started: PromiseWithResolvers<RunningCommand>
  /** Called at each change of the output or the end. */
  readonly waiters: Set<() => void>
  hasStream: boolean
  end: CommandEnd | null
  endedAt: number
  timer: NodeJS.Timeout | undefined
}

/** @param now as `performance.now()` */
export function stateOf(entry: Entry, now: number): CommandState {
  const { input, shown, sessionId, startedAt, begun, end, endedAt, output } = entry
  return {
    id: input.commandId,
    sessionId,
    kernelId: input.kernelId,
    userId: input.userId,
    shown,
    attached: input.attached,
    startedAt: startedAt.toISOString(),
    ranMs: Math.max(0, (end ? endedAt : now) - begun),
    end,
    stdoutBytes: output.stdout.total,
    stderrBytes: output.stderr.total,
  }
}

/** Tells those who wait for a change of the command. */
export function tellChanged({ waiters }: Entry): void {
  for (const waiter of [...waiters]) waiter()
}

/** Resolves when `isDone`, or after this time. @throws the signal's reason */
export async function changed(
  entry: Entry,
  isDone: () => boolean,
  waitMs: number,
  signal?: AbortSignal,
): Promise<void> {
  if (waitMs === 0 || isDone()) return
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const look = () => {
    if (isDone() || signal?.aborted) resolve(undefined)
  }
  const timer = setTimeout(resolve, waitMs, undefined)
  entry.waiters.add(look)
  signal?.addEventListener('abort', look)
  await promise
  clearTimeout(timer)
  entry.waiters.delete(look)
  signal?.removeEventListener('abort', look)
}
