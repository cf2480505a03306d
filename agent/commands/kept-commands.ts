import { AppError, because } from '#manager/contract'
import { type Entry } from './command-entry.ts'

/** The commands that this process knows, and how long, and with how much output, those that have ended are kept. */
export interface KeptCommands extends Disposable {
  /** A command is found only together with its session. @throws AppError `command_not_found` */
  find(sessionId: string, commandId: string): Entry
  get(commandId: string): Entry | undefined
  add(commandId: string, entry: Entry): void
  /** All commands, the oldest first. */
  all(): readonly Entry[]
  /** Number of running commands of a person. */
  running(userId: string): number
  /** Forgets commands that ended long ago. */
  sweep(): void
  /** Forgets the oldest commands of a person who has more than the bounds allow. */
  makeRoom(userId: string): void
}

/** How long commands that have ended are known, and the bytes of their output that one person may have here. */
const KEPT_MS = 10 * 60_000
const KEPT_BYTES_OF_PERSON = 16 * 1024 * 1024
const MOST_KEPT_OF_PERSON = 200
const SWEEP_MS = 30_000

/** @param now as `performance.now()` */
export function createKeptCommands(now: () => number): KeptCommands {
  /** The oldest first. */
  const entries = new Map<string, Entry>()
  const sweeper = setInterval(sweep, SWEEP_MS).unref()

  function sweep(): void {
    const since = now() - KEPT_MS
    for (const [id, { end, endedAt }] of entries) if (end && endedAt <= since) entries.delete(id)
  }

  const of = (userId: string, hasEnded: boolean) =>
    [...entries].filter(([, { input, end }]) => input.userId === userId && (end !== null) === hasEnded)

  return {
    find(sessionId, commandId) {
      const entry = entries.get(commandId)
      if (entry?.sessionId === sessionId) return entry
      throw new AppError('command_not_found', because('command_forgotten'))
    },
    get: commandId => entries.get(commandId),
    add(commandId, entry) {
      entries.set(commandId, entry)
    },
    all: () => [...entries.values()],
    running: userId => of(userId, false).length,
    sweep,
    makeRoom(userId) {
      const ended = of(userId, true)
      let bytes = ended.reduce((sum, [, { output }]) => sum + output.stdout.size + output.stderr.size, 0)
      let count = ended.length
      for (const [id, { output }] of ended) {
        if (bytes <= KEPT_BYTES_OF_PERSON && count <= MOST_KEPT_OF_PERSON) return
        entries.delete(id)
        bytes -= output.stdout.size + output.stderr.size
        count--
      }
    },
    [Symbol.dispose]() {
      clearInterval(sweeper)
    },
  }
}
