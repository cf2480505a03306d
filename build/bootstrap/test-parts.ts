/** The parts of `npm test`, in the order of their cost. */
export const PARTS = ['typecheck', 'lint', 'unit', 'integration', 'e2e'] as const
export type Part = (typeof PARTS)[number]

export interface TestFlags {
  readonly parts: readonly Part[]
  readonly keepGoing: boolean
}

/** @throws Error naming the flag that is not one */
export function parseTestFlags(args: readonly string[]): TestFlags {
  const only: Part[] = []
  let keepGoing = false
  const rest = args.flatMap(arg => (arg.startsWith('--only=') ? ['--only', arg.slice('--only='.length)] : [arg]))
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === '--keep-going') keepGoing = true
    else if (rest[at] === '--only') {
      const part = PARTS.find(name => name === rest[at + 1])
      if (part === undefined) throw new Error(`--only takes one of ${PARTS.join(', ')}`)
      only.push(part)
      at++
    } else throw new Error(`${rest[at] ?? ''} is no flag of npm test; see npm test -- --help`)
  }
  return { parts: only.length === 0 ? PARTS : PARTS.filter(part => only.includes(part)), keepGoing }
}

/** Which parts are vitest projects, and so report counts? */
export function isVitest(part: Part): boolean {
  return part !== 'typecheck' && part !== 'lint'
}

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Those among the passed that needed a second try, and what the first one said. */
  readonly unsteady: readonly string[]
}

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  readonly testResults: readonly {
    readonly status: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      /** Of every try. */
      readonly failureMessages?: readonly string[] | null
    }[]
  }[]
}

/** Sums up vitest's JSON report. A file that failed before its first test (it does not load) counts as one failure. */
export function countTests(report: VitestReport): Counts {
  const statuses = report.testResults.flatMap(file => {
    const tests = file.assertionResults.map(result => result.status)
    return file.status === 'failed' && !tests.includes('failed') ? [...tests, 'failed'] : tests
  })
  const count = (wanted: (status: string) => boolean) => statuses.filter(wanted).length
  const passed = count(status => status === 'passed')
  const failed = count(status => status === 'failed')
  const unsteady = report.testResults
    .flatMap(file => file.assertionResults)
    .filter(({ status, failureMessages }) => status === 'passed' && (failureMessages?.length ?? 0) > 0)
    .map(({ fullName, failureMessages }) => `${fullName} (${failureMessages?.[0]?.split('\n')[0] ?? ''})`)
  return { passed, failed, skipped: statuses.length - passed - failed, unsteady }
}

export function addCounts(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    unsteady: [...a.unsteady, ...b.unsteady],
  }
}

/** The last lines of `npm test`. */
export function describeCounts({ passed, failed, skipped, unsteady }: Counts): string {
  const sum = `${String(passed)} passed, ${String(failed)} failed${skipped === 0 ? '' : `, ${String(skipped)} skipped`}`
  return [...unsteady.map(name => `passed at the second try only: ${name}`), sum].join('\n')
}
