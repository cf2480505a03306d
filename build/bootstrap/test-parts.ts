import { type TestSet } from './test-sets.ts'

/**
 * The parts of `npm test`. `integration` needs a database, `engine` a Docker Engine, `console` a browser, `e2e` all three,
 * `desktop` an Electron and an engine; `fuzz` runs for 20 s, and only in `npm run test:all`.
 */
export const PARTS = [
  'typecheck',
  'lint',
  'unit',
  'integration',
  'engine',
  'e2e',
  'desktop',
  'console',
  'fuzz',
] as const
export type Part = (typeof PARTS)[number]

/**
 * Schedule for two cores: the lanes run concurrently, the parts of a lane one after the other. With `console` both take about as long. Tests
 * with an engine or a browser mostly wait, while the parts beside them compute.
 */
const LANES: readonly (readonly Part[])[] = [
  ['typecheck', 'lint', 'integration'],
  ['unit', 'engine', 'e2e', 'desktop'],
]

/** Parts that may run beside any other part. Each goes to the lane that is free first, so that both cores have work to the end. */
const EITHER: readonly Part[] = ['console', 'fuzz']

export interface Schedule {
  readonly lanes: readonly (readonly Part[])[]
  /** The rest: a lane that has done its own parts takes the next of these. */
  readonly either: readonly Part[]
}

/** The schedule reduced to these parts. */
export function scheduleOf(parts: readonly Part[]): Schedule {
  const chosen = (list: readonly Part[]) => list.filter(part => parts.includes(part))
  const lanes = LANES.map(chosen).filter(lane => lane.length > 0)
  const either = chosen(EITHER)
  return lanes.length > 0 ? { lanes, either } : { lanes: [either], either: [] }
}

/**
 * Number of `integration` test files that run concurrently: each has a database and ports of its own, and waits more than it
 * computes.
 */
export const INTEGRATION_WORKERS = 3

/**
 * Number of `engine` test files that run concurrently: on the engine that they share each has agents, a manager's id and images of its
 * own, and most of the time they wait.
 */
export const ENGINE_WORKERS = 2

/** Number of `console` test files that run concurrently: each has a stand-in of the manager and a browser of its own. */
export const CONSOLE_WORKERS = 2

export interface TestFlags {
  readonly set: TestSet
  readonly parts: readonly Part[]
  /** Branch, tag or commit: runs only the tests of files that differ between it and the working tree. */
  readonly since: string | undefined
  readonly keepGoing: boolean
  /** Writes durations, processor seconds and versions of this run into the files of `test/` that hold them. */
  readonly storeDurations: boolean
  /** A single part over its budget of processor seconds fails the run; without this flag, only all parts together do. */
  readonly enforceBudget: boolean
  /** Measures which statements unit and integration tests execute. */
  readonly coverage: boolean
}

const SWITCHES: readonly string[] = ['--all', '--keep-going', '--store-durations', '--enforce-budget', '--coverage']

/** @throws Error naming the unknown flag */
export function parseTestFlags(args: readonly string[]): TestFlags {
  const only: Part[] = []
  const given = new Set<string>()
  let since: string | undefined
  const rest = args.flatMap(arg => {
    const [, flag, value] = /^(--(?:only|since))=(.+)$/.exec(arg) ?? []
    return flag === undefined || value === undefined ? [arg] : [flag, value]
  })
  for (let at = 0; at < rest.length; at++) {
    const flag = rest[at] ?? ''
    if (flag === '--only') {
      const part = PARTS.find(name => name === rest[at + 1])
      if (part === undefined) throw new Error(`--only takes one of ${PARTS.join(', ')}`)
      only.push(part)
      at++
    } else if (flag === '--since') {
      since = rest[++at]
      if (since === undefined) throw new Error('--since takes a branch, a tag or a commit')
    } else if (SWITCHES.includes(flag)) given.add(flag)
    else throw new Error(`${flag} is no flag of npm test; see npm test -- --help`)
  }
  const set = given.has('--all') ? 'all' : 'change'
  const usual = PARTS.filter(part => set === 'all' || part !== 'fuzz')
  return {
    set,
    parts: only.length === 0 ? usual : PARTS.filter(part => only.includes(part)),
    since,
    keepGoing: given.has('--keep-going'),
    storeDurations: given.has('--store-durations'),
    enforceBudget: given.has('--enforce-budget'),
    coverage: given.has('--coverage'),
  }
}

/** Whether a part is a vitest project, and so reports counts. */
export function isVitest(part: Part): boolean {
  return part !== 'typecheck' && part !== 'lint' && part !== 'fuzz'
}
