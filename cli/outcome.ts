import { isCommanderError } from './commander-error.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { Interrupted } from './interrupt.ts'
import { describeFailure } from './output.ts'
import { allPrinted, isReaderGone, toleratePartingReaders } from './standard-streams.ts'

/** Runs a command and ends this process with its exit code. */
export async function endWith(command: () => Promise<unknown>, { json }: { readonly json: boolean }): Promise<never> {
  toleratePartingReaders()
  const code = await run(command, json)
  await allPrinted()
  process.exit(code)
}

async function run(command: () => Promise<unknown>, json: boolean): Promise<number> {
  try {
    await command()
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (error) {
    if (isReaderGone(error)) return EXIT.ok
    const code = exitCodeOf(error)
    if (code !== EXIT.ok && !isTold(error, json)) process.stderr.write(`${describeFailure(error, json)}\n`)
    return code
  }
}

/**
 * Whether the user knows of the error already: they interrupted the command, or commander has printed its own text (not with
 * JSON).
 */
function isTold(error: unknown, json: boolean): boolean {
  if (isCommanderError(error)) return !json
  return error instanceof Interrupted || (error instanceof Error && error.name === 'AbortError')
}
