import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, Vitest } from 'vitest/node'
import { type UnhandledError } from './test-report.ts'

/** Variable with the path of the file that `RunReporter` writes. */
export const RUN_REPORT_FILE = 'BERTH_RUN_REPORT_FILE'

/** Asks a run to end in order: running tests are aborted, but still clean up. */
export const CANCEL_SIGNAL = 'SIGUSR2'

/** Metadata that a test file adds (`test/fixtures/processor-seconds.ts`). */
export interface FileMeta {
  /** Processor seconds of its worker and of all that it started. */
  readonly processorSeconds?: number
}

/** Figures that vitest's own JSON report leaves out. */
export interface RunReport {
  /** Errors outside of every test: a rejection that nobody handled, for example. */
  readonly unhandled: readonly UnhandledError[]
  /** Processor seconds of test files, by their absolute paths. */
  readonly processorSeconds: Readonly<Record<string, number>>
}

/** Vitest reporter of the parts of `npm test`. */
export default class RunReporter implements Reporter {
  onInit(vitest: Vitest): void {
    process.once(CANCEL_SIGNAL, () => void vitest.cancelCurrentRun('keyboard-input'))
  }

  onTestRunEnd(...[modules, errors]: Parameters<NonNullable<Reporter['onTestRunEnd']>>): void {
    const path = process.env[RUN_REPORT_FILE]
    if (path === undefined) return
    const unhandled = errors.map((error): UnhandledError => {
      const file: unknown = error.VITEST_TEST_PATH
      return { file: typeof file === 'string' ? file : undefined, message: error.stack ?? error.message }
    })
    const processorSeconds = Object.fromEntries(
      modules.flatMap(each => {
        const { processorSeconds: seconds } = each.meta() as FileMeta
        return seconds === undefined ? [] : [[each.moduleId, seconds] as const]
      }),
    )
    const report: RunReport = { unhandled, processorSeconds }
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(report))
  }
}
