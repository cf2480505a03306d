/** The part of vitest's JSON report that is read here, with the errors that vitest leaves out of it. */
export interface VitestReport {
  readonly testResults: readonly FileResult[]
  readonly unhandled?: readonly UnhandledError[]
  /** Processor seconds of test files by their absolute paths; see `test/fixtures/processor-seconds.ts`. */
  readonly processorSeconds?: Readonly<Record<string, number>>
}

export interface FileResult {
  /** Absolute path. */
  readonly name: string
  readonly status: string
  /** Why the file failed outside of its tests. */
  readonly message?: string
  /** Milliseconds since the epoch. */
  readonly startTime: number
  readonly endTime: number
  readonly assertionResults: readonly TestResult[]
}

interface TestResult {
  readonly status: string
  readonly fullName: string
  /** Messages of every failed attempt. */
  readonly failureMessages?: readonly string[] | null
}

/** An error outside of every test, such as a rejection that nobody handled. */
export interface UnhandledError {
  /** Absolute path of the test file that was running; undefined if vitest does not know it. */
  readonly file?: string | undefined
  readonly message: string
}

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Failed tests, and files that failed without one, each with the first lines of its messages. */
  readonly failures: readonly string[]
  /** Passed tests that needed a second attempt, each with the message of the first one. */
  readonly unsteady: readonly string[]
}

export const NO_TESTS: Counts = { passed: 0, failed: 0, skipped: 0, failures: [], unsteady: [] }

/** Largest number of unsteady tests with which a run passes: retries must not become a habit. */
export const MAX_UNSTEADY = 3

/** Sums up vitest's JSON report. A file that failed before its first test (it does not load) counts as one failure. */
export function countTests(report: VitestReport): Counts {
  const statuses = report.testResults.flatMap(file => {
    const tests = file.assertionResults.map(result => result.status)
    return file.status === 'failed' && !tests.includes('failed') ? [...tests, 'failed'] : tests
  })
  const count = (wanted: (status: string) => boolean) => statuses.filter(wanted).length
  const passed = count(status => status === 'passed')
  const unhandled = report.unhandled ?? []
  const failed = count(status => status === 'failed') + unhandled.length
  const failures = report.testResults.flatMap(file => {
    const broken = file.assertionResults.filter(({ status }) => status === 'failed')
    if (file.status === 'failed' && broken.length === 0) return [failure(file.name, [file.message ?? ''])]
    return broken.map(({ fullName, failureMessages }) => failure(`${file.name}: ${fullName}`, failureMessages ?? []))
  })
  const outside = unhandled.map(({ file, message }) =>
    failure(`${file ?? 'no test file'}: outside of its tests`, [message]),
  )
  const unsteady = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status, failureMessages }) => status === 'passed' && (failureMessages?.length ?? 0) > 0)
      .map(({ fullName, failureMessages }) => `${name}: ${fullName} (${failureMessages?.[0]?.split('\n')[0] ?? ''})`),
  )
  const skipped = statuses.length - passed - (failed - unhandled.length)
  return { passed, failed, skipped, failures: [...failures, ...outside], unsteady }
}

/** Lines of a message that the last lines of `npm test` repeat: enough for what was expected, and where. */
const TOLD_LINES = 8

/** The first attempt tells the cause; a second one may fail only because of what the first left behind. */
function failure(name: string, messages: readonly string[]): string {
  const told = [...new Set(messages.map(message => message.trim().split('\n').slice(0, TOLD_LINES).join('\n')))]
  return [name, ...told.join('\n').split('\n')].filter(line => line !== '').join('\n    ')
}

export function addCounts(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
    unsteady: [...a.unsteady, ...b.unsteady],
  }
}

export function isTooUnsteady({ unsteady }: Counts): boolean {
  return unsteady.length > MAX_UNSTEADY
}

/** The last lines of `npm test`. */
export function describeCounts(counts: Counts): string {
  const { passed, failed, skipped, failures, unsteady } = counts
  return [
    ...failures.map(text => `✗ ${text}`),
    ...unsteady.map(name => `passed at the second try only: ${name}`),
    ...(isTooUnsteady(counts) ? [`✗ ${unsteady.length} unsteady tests; at most ${MAX_UNSTEADY} are accepted`] : []),
    `${String(passed)} passed, ${String(failed)} failed${skipped === 0 ? '' : `, ${String(skipped)} skipped`}`,
  ].join('\n')
}

/** Text of `test/unsteady.md`: the tests of one run that passed at a second try, each with how it failed. The file may be committed, so paths begin at `root`. */
export function describeUnsteady({ unsteady }: Counts, root: string): string {
  const tests = unsteady.map(name => `- ${name.replaceAll(`${root}/`, '')}\n`).join('')
  return `# Unsteady tests\n\nThese passed only at a second try in the last run that had any. Mend them before other work; then delete this file.\n\n${tests}`
}

/** Seconds per test file, by its path from the root. */
export type Durations = Readonly<Record<string, number>>

export function durationsOf(report: VitestReport, root: string): Durations {
  return Object.fromEntries(
    report.testResults.map(({ name, startTime, endTime }) => [
      relativeTo(root, name),
      Math.round((endTime - startTime) / 100) / 10,
    ]),
  )
}

/** Processor seconds per test file, by its path from the root. */
export function processorSecondsOf({ processorSeconds = {} }: VitestReport, root: string): Durations {
  return Object.fromEntries(
    Object.entries(processorSeconds).map(([name, seconds]) => [relativeTo(root, name), seconds]),
  )
}

const relativeTo = (root: string, name: string) => (name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name)

const SLOWEST = 8
/** A file is reported if it takes this many seconds, and this many times longer than when the durations were stored. */
const GROWN = { seconds: 10, times: 2 } as const

/** The slowest files of a run, and the files that have become much slower than in `stored`. */
export function describeDurations(durations: Durations, stored: Durations): string[] {
  const byTime = Object.entries(durations).sort(([, a], [, b]) => b - a)
  const slowest = byTime.slice(0, SLOWEST).map(([file, seconds]) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}`)
  const grown = byTime.flatMap(([file, seconds]) => {
    const before = stored[file]
    if (before === undefined || seconds - before < GROWN.seconds || seconds < before * GROWN.times) return []
    return [`slower than stored: ${file} (${before.toFixed(1)} s → ${seconds.toFixed(1)} s)`]
  })
  return slowest.length === 0 ? grown : ['slowest test files:', ...slowest, ...grown]
}
