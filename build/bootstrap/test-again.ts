import { type Part } from './test-parts.ts'
import { type FileResult, MAX_UNSTEADY, type VitestReport } from './test-report.ts'

/** End of a part of `npm test`; a part without tests has no report. */
interface Ended {
  readonly code: number
  readonly report: VitestReport | undefined
}

export interface FailedFile {
  readonly part: Part
  /** Absolute path. */
  readonly file: string
}

/**
 * Test files to run once more, alone, when everything else is over. On a machine of two cores that all parts share, a file may fail for want of
 * time; what fails on a quiet machine too is a fault.
 *
 * @returns undefined if running files again cannot make the run pass: a part failed without a test (types, lint, a crash), or too many files did
 */
export function filesToRunAgain(outcomes: ReadonlyMap<Part, Ended>): readonly FailedFile[] | undefined {
  const failed: FailedFile[] = []
  for (const [part, { code, report }] of outcomes) {
    if (code === 0) continue
    const files = report === undefined ? [] : failedFiles(report)
    if (files.length === 0 || files.includes(undefined)) return undefined
    failed.push(...files.flatMap(file => (file === undefined ? [] : { part, file })))
  }
  return failed.length > MAX_UNSTEADY ? undefined : failed
}

/** The files that failed or had an error outside of their tests. Undefined stands for an error that belongs to no known file. */
function failedFiles({ testResults, unhandled = [] }: VitestReport): readonly (string | undefined)[] {
  const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)
  return [...new Set([...failed, ...unhandled.map(({ file }) => file)])]
}

/**
 * The report of a part after `file` passed alone. Its tests that failed before count as unsteady: they passed, and keep the messages of their failure.
 *
 * @param alone report of the run of this file alone, in which all tests passed
 */
export function withSecondRun(first: VitestReport, alone: VitestReport, file: string): VitestReport {
  const before = first.testResults.find(({ name }) => name === file)
  const errors = (first.unhandled ?? []).filter(error => error.file === file).map(({ message }) => message)
  const merge = (after: FileResult): FileResult => {
    const messages = messagesOf(before)
    const outside = [...(before?.message ? [before.message] : []), ...errors]
    return {
      ...after,
      assertionResults: after.assertionResults.map((test, at) => {
        // An error outside of the tests is reported with the first test of the file.
        const told = [...(messages.get(test.fullName) ?? []), ...(at === 0 ? outside : [])]
        return told.length === 0 ? test : { ...test, failureMessages: [...told, ...(test.failureMessages ?? [])] }
      }),
    }
  }
  const again = alone.testResults.filter(({ name }) => name === file).map(merge)
  return {
    ...first,
    testResults: [...first.testResults.filter(({ name }) => name !== file), ...again],
    unhandled: (first.unhandled ?? []).filter(error => error.file !== file),
  }
}

function messagesOf(file: FileResult | undefined): ReadonlyMap<string, readonly string[]> {
  return new Map(file?.assertionResults.map(({ fullName, failureMessages }) => [fullName, failureMessages ?? []]))
}
