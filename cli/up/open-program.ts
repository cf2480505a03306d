import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'

/** Time after which a program counts as opened: one that lacks a library or a display has ended by then. */
const EARLY_END_MS = 2_000

/**
 * Starts a program with windows, which outlives this process.
 *
 * @returns whether it is open: it still runs after a moment, or has passed the request on to an instance that is running (exit code 0)
 */
export async function openProgram(program: string, args: readonly string[], env = process.env): Promise<boolean> {
  try {
    const child = spawn(program, args, { detached: true, stdio: 'ignore', env })
    await once(child, 'spawn')
    child.unref()
    const code = await Promise.race([once(child, 'exit').then(([code]) => code as number | null), wait(EARLY_END_MS)])
    return code === undefined || code === 0
  } catch {
    return false // the program is not there, or may not be executed
  }
}
