import { ERRORS, toWireError } from '#manager/contract'

/**
 * Runs a program that works on the database without a running server, as a child process of the CLI. Prints one line of JSON on stdout: the
 * outcome, or `{"error":…}` with exit code 1. A signal stops it in order, without that line.
 */
export function runOffline(work: (signal: AbortSignal) => Promise<object>): void {
  const interrupt = new AbortController()
  // A signal may arrive more than once: from the terminal, and from the CLI, which waits for us.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort())
  const done = async () => process.stdout.write(`${JSON.stringify(await work(interrupt.signal))}\n`)
  done().catch((error: unknown) => {
    process.exitCode = 1
    if (interrupt.signal.aborted) return
    const { code, message, detail } = toWireError(error)
    if (code === 'internal')
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.stdout.write(`${JSON.stringify({ error: { code, message: message || ERRORS[code].title, detail } })}\n`)
  })
}
