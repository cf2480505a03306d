import { EXIT } from './exit-codes.ts'

const STREAMS = [process.stdout, process.stderr] as const
let readerGone: Error | undefined

/**
 * Ignores a reader of our output that leaves early (`| head -1`): further output is discarded, and that is no failure. Output
 * that cannot be written for another reason, e.g. into a file on a full disk, is a failure.
 */
export function toleratePartingReaders(): void {
  for (const stream of STREAMS) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') {
        readerGone = error
        return
      }
      if (stream === process.stdout) process.stderr.write(`berth: The output cannot be written: ${error.message}\n`)
      process.exit(EXIT.failed)
    })
  }
}

/** Whether the error was only caused by a reader of our output that left. */
export const isReaderGone = (error: unknown) => error !== undefined && error === readerGone

/** Resolves when all output has left this process: exiting earlier would drop output that a slow reader has not read yet. */
export async function allPrinted(): Promise<void> {
  await Promise.all(STREAMS.map(stream => new Promise<void>(done => stream.write('', () => done()))))
}
