import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'

/** Time after which a program counts as opened: one that lacks a library or a display has ended by then. */
const EARLY_END_MS = 2_000

/** A program with windows, which outlives this process unless it is disposed of. */
export interface OpenedProgram extends Disposable {
  /** Ends the program. One that has passed the request on to an instance that was running before leaves that one alone. */
  [Symbol.dispose](): void
}

/**
 * Starts a program with windows.
 *
 * @returns undefined unless it is open: it still runs after a moment, or has passed the request on to an instance that is running (exit
 * code 0)
 */
export async function openProgram(
  program: string,
  args: readonly string[],
  env = process.env,
): Promise<OpenedProgram | undefined> {
  try {
    const child = spawn(program, args, { detached: true, stdio: 'ignore', env })
    await once(child, 'spawn')
    child.unref()
    const code = await Promise.race([once(child, 'exit').then(([code]) => code as number | null), wait(EARLY_END_MS)])
    if (code !== undefined && code !== 0) return undefined
    return {
      [Symbol.dispose]() {
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      },
    }
  } catch {
    return undefined // the program is not there, or may not be executed
  }
}
