import { isCommanderError } from './commander-error.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { Interrupted } from './interrupt.ts'
import { describeFailure } from './output.ts'
import { allPrinted, isReaderGone, toleratePartingReaders } from './standard-streams.ts'

interface Wording {
  readonly json: boolean
  /** A further line of the text of a failure; empty if there is nothing to add. */
  readonly hintFor?: (error: unknown) => string
}

/** Runs a command and ends this process with its exit code. */
export async function endWith(command: () => Promise<unknown>, wording: Wording): Promise<never> {
  toleratePartingReaders()
  const code = await run(command, wording)
  await allPrinted()
  process.exit(code)
}

async function run(command: () => Promise<unknown>, { json, hintFor = () => '' }: Wording): Promise<number> {
  try {
    await command()
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (error) {
    if (isReaderGone(error)) return EXIT.ok
    const code = exitCodeOf(error)
    if (code !== EXIT.ok && !isTold(error, json))
      process.stderr.write(`${describeFailure(error, json)}${json ? '' : hintFor(error)}\n`)
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
