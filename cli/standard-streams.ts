import { EXIT } from './exit-codes.ts'

const STREAMS = [process.stdout, process.stderr] as const
let readerGone: Error | undefined

/**
 * Who reads our output may leave (`| head -1`): what is printed from then on goes nowhere, and that is no failure. Output that
 * cannot be written otherwise, e.g. into a file on a full disk, is one.
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

/** Whether that is only what a parted reader of our output made fail. */
export const isReaderGone = (error: unknown) => error !== undefined && error === readerGone

/** Resolves when everything printed has left this process: its end would drop what a slow reader has not taken yet. */
export async function allPrinted(): Promise<void> {
  await Promise.all(STREAMS.map(stream => new Promise<void>(done => stream.write('', () => done()))))
}
