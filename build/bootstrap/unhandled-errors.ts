import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter } from 'vitest/node'
import { type UnhandledError } from './test-report.ts'

/** Variable with the path of the file that `UnhandledErrors` writes. */
export const UNHANDLED_ERRORS_FILE = 'BERTH_UNHANDLED_ERRORS_FILE'

/** Vitest reporter for errors outside of every test, which vitest's JSON report leaves out: a rejection that nobody handled, for example. */
export default class UnhandledErrors implements Reporter {
  onTestRunEnd(...[, errors]: Parameters<NonNullable<Reporter['onTestRunEnd']>>): void {
    const path = process.env[UNHANDLED_ERRORS_FILE]
    if (path === undefined) return
    const list = errors.map((error): UnhandledError => {
      const file: unknown = error.VITEST_TEST_PATH
      return { file: typeof file === 'string' ? file : undefined, message: error.stack ?? error.message }
    })
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(list))
  }
}
