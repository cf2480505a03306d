import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { within } from '#base/within'
import { type Because, because } from '#manager/contract'

const execute: Execute = promisify(execFile)
/** A GPU that fell off the bus can block nvidia-smi for long. */
const TIMEOUT_MS = 10_000
/** Time that a killed process has to end. */
const GRACE_MS = 2_000
/** Rest between two attempts while a process that could not be killed is still there. */
const STUCK_REST_MS = 60_000

/** Texts about the tool of a maker that does not answer, or fails. */
export interface SmiTexts {
  readonly silent: (seconds: number) => Because
  readonly fails: (text: string) => Because
}

const NVIDIA_TEXTS: SmiTexts = {
  silent: seconds => because('nvidia_smi_silent', { seconds }),
  fails: text => because('nvidia_smi_fails', { text }),
}

/** Output of a tool such as nvidia-smi, also if it fails: one lost GPU makes it fail for all of them. */
export interface SmiOutput {
  readonly text: string
  readonly failure: Because | null
  readonly isMissing: boolean
  /** Whether it did not answer within its deadline. */
  readonly isSilent: boolean
}

/** `execFile`, as it is used here. */
export type Execute = (
  program: string,
  args: readonly string[],
  options: { timeout: number; killSignal: 'SIGKILL'; signal: AbortSignal },
) => Promise<{ readonly stdout: string }>

/** Runs the tool with these arguments. Rejects only if aborted. */
export type RunSmi = (signal: AbortSignal, ...args: string[]) => Promise<SmiOutput>

/**
 * Each run answers within its deadline, whatever the driver does: a process that waits for a lost GPU within the kernel cannot be
 * killed, and is left behind. While there is such a process, further runs fail at once, but for one a minute, so that a driver that
 * hangs for hours is not given a process each second.
 */
export function createSmi(
  program: string,
  { timeoutMs = TIMEOUT_MS, graceMs = GRACE_MS, run = execute, texts = NVIDIA_TEXTS } = {},
): RunSmi {
  let stuck = 0
  let restUntil = -Infinity
  const silent: SmiOutput = {
    text: '',
    failure: texts.silent(timeoutMs / 1000),
    isMissing: false,
    isSilent: true,
  }

  return async (signal, ...args) => {
    if (stuck > 0 && performance.now() < restUntil) return silent
    const running = run(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL', signal })
    const isLate = () => {
      stuck += 1
      restUntil = performance.now() + STUCK_REST_MS
      const over = () => (stuck -= 1)
      running.then(over, over)
      return new Stuck()
    }
    try {
      const { stdout } = await within(timeoutMs + graceMs, running, isLate)
      return { text: stdout, failure: null, isMissing: false, isSilent: false }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Stuck) return silent
      const output = error as { stdout?: string; stderr?: string; message?: string; code?: unknown; killed?: boolean }
      const why = [output.stderr, output.stdout, output.message].find(text => text?.trim()) ?? 'unknown'
      return {
        text: output.stdout ?? '',
        failure: output.killed ? silent.failure : texts.fails(lastLine(why)),
        isMissing: output.code === 'ENOENT',
        isSilent: output.killed === true,
      }
    }
  }
}

class Stuck extends Error {}

/** Last line, which holds the error message. */
function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? text
}
