import { spawn } from 'node:child_process'
import { StepError, type Note } from './progress.ts'

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Called with the last line of each piece of output, as it arrives. */
  readonly note?: Note
  /** Stops the command with SIGTERM, unless it is `indivisible`. */
  readonly signal?: AbortSignal
  /**
   * Runs the command in a session of its own, out of reach of Ctrl-C, and waits for it: an interrupted command would be worse
   * than a late stop.
   */
  readonly indivisible?: boolean
}

/** Runs a program to its end; throws a StepError with the end of its output if it fails. */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { env = process.env, cwd, note, signal, indivisible = false } = options
  signal?.throwIfAborted()
  const child = spawn(program, args, {
    env,
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: indivisible,
    ...(indivisible || signal === undefined ? {} : { signal }),
  })
  let output = ''
  const take = (chunk: string) => {
    output = (output + chunk).slice(-1_000_000)
    const line = chunk.trimEnd().split('\n').at(-1)
    if (line !== undefined && line !== '') note?.(line)
  }
  child.stdout.setEncoding('utf8').on('data', take)
  child.stderr.setEncoding('utf8').on('data', take)
  const code = await new Promise<number | null>((resolve, reject) => {
    let failure: Error | undefined
    child.on('error', error => (failure = error))
    // Wait for `close`, even after an abort: then the program has ended and cleaned up.
    child.on('close', exitCode => {
      if (failure !== undefined) reject(failure)
      else resolve(exitCode)
    })
  })
  signal?.throwIfAborted()
  if (code !== 0) {
    throw new StepError(
      `${program} ${args[0] ?? ''} failed (${String(code)})`,
      output.trimEnd().split('\n').slice(-15).join('\n'),
    )
  }
  return output
}
