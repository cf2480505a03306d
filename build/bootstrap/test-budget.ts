import { type ProcessorTime } from './process-table.ts'
import { type TestSet } from './test-sets.ts'

/** `test/processor-seconds.json`: what a run needed on the machine whose `sliceMs` it names. */
export interface Budget {
  /** See `processor-speed.ts`. */
  readonly sliceMs: number
  /** Processor seconds of each part, for each set of tests. */
  readonly parts: Readonly<Partial<Record<TestSet, Readonly<Record<string, number>>>>>
  /** Processor seconds of test files, by their paths from the root: some do less in `change`. Files below a second are left out. */
  readonly files: Readonly<Partial<Record<TestSet, Readonly<Record<string, number>>>>>
}

export const NO_BUDGET: Budget = { sliceMs: 0, parts: {}, files: {} }

export interface Spent {
  readonly set: TestSet
  readonly sliceMs: number
  /** Only parts that ran whole: single files say nothing about their part. */
  readonly parts: readonly {
    readonly part: string
    readonly processor: ProcessorTime
    readonly files: Readonly<Record<string, number>>
  }[]
}

/** A part that takes this much more than its budget is named. */
const MARGIN = 1.1
/**
 * A run that takes this much more than its budget fails. Runs of the same tests on different days differed by up to a third, though scaled by the speed
 * that was measured meanwhile: neighbours on the same computer slow memory and disks more than the measured work.
 */
const RUN_MARGIN = 1.4
/** A run counts as whole from this much of the budget on: a machine without a registry skips the desktop app. */
const WHOLE = 0.9
/** Files that grew by less are not named. */
const GROWN_S = 1
const NAMED = 8

const total = ({ user, system }: ProcessorTime) => user + system
const sum = (list: readonly number[]) => list.reduce((a, b) => a + b, 0)
/** Seconds of the machine of the budget that one second of the machine of the run is worth; 1 if one of them was not measured. */
const scaleOf = (run: number, budget: number) => (budget > 0 && run > 0 ? budget / run : 1)

/** Parts over their budget, with their files that grew, all in seconds of the machine of the budget. Parts without one are never over. */
export function overBudget({ set, sliceMs, parts }: Spent, budget: Budget) {
  const scale = scaleOf(sliceMs, budget.sliceMs)
  return parts.flatMap(({ part, processor, files }) => {
    const allowed = budget.parts[set]?.[part]
    const seconds = total(processor) * scale
    if (allowed === undefined || seconds <= allowed * MARGIN) return []
    const grown = Object.entries(files)
      .map(([file, spent]) => ({ file, before: budget.files[set]?.[file] ?? 0, seconds: spent * scale }))
      .filter(({ before, seconds: now }) => now - before >= GROWN_S)
      .toSorted((a, b) => b.seconds - b.before - (a.seconds - a.before))
      .slice(0, NAMED)
    return [{ part, allowed, seconds, grown }]
  })
}

/**
 * A whole run far over the sum of the budgets of its parts, in seconds of the machine of the budget; undefined if it keeps within it, and
 * for a run of some parts.
 */
export function runOverBudget({ set, sliceMs, parts }: Spent, budget: Budget) {
  const budgets = budget.parts[set] ?? {}
  const judged = parts.filter(({ part }) => budgets[part] !== undefined)
  const allowed = sum(judged.map(({ part }) => budgets[part] ?? 0))
  const seconds = sum(judged.map(({ processor }) => total(processor))) * scaleOf(sliceMs, budget.sliceMs)
  const isWhole = allowed >= WHOLE * sum(Object.values(budgets))
  return isWhole && seconds > allowed * RUN_MARGIN ? { allowed, seconds } : undefined
}

/** Lines about the budget, for the end of `npm test`. */
export function describeBudget(spent: Spent, budget: Budget): string[] {
  const run = runOverBudget(spent, budget)
  const parts = overBudget(spent, budget).flatMap(({ part, allowed, seconds, grown }) => [
    `✗ OVER BUDGET: ${part} took ${seconds.toFixed(0)} processor seconds of ${allowed.toFixed(0)}. What grew:`,
    ...grown.map(({ file, before, seconds: now }) => `    ${before.toFixed(1)} s → ${now.toFixed(1)} s  ${file}`),
  ])
  if (run === undefined) return parts
  const figures = `${run.seconds.toFixed(0)} processor seconds of ${run.allowed.toFixed(0)}`
  return [
    ...parts,
    `✗ THE RUN IS OVER ITS BUDGET: ${figures}. Make the files above cheaper; if they are worth it: npm test -- --store-durations`,
  ]
}

/** The budget after a run whose figures are to be kept: parts and files that did not run keep theirs, in seconds of the new machine. */
export function keptBudget({ set, sliceMs, parts }: Spent, before: Budget): Budget {
  const scale = 1 / scaleOf(sliceMs, before.sliceMs)
  const tenths = (seconds: number) => Math.round(seconds * 10) / 10
  const scaled = (record: Readonly<Record<string, number>> = {}) =>
    Object.fromEntries(Object.entries(record).map(([name, seconds]) => [name, tenths(seconds * scale)]))
  const sorted = (record: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const allScaled = (sets: Budget['parts']) =>
    Object.fromEntries(Object.entries(sets).map(([name, record]) => [name, scaled(record)]))
  const now = Object.fromEntries(parts.map(({ part, processor }) => [part, tenths(total(processor))]))
  const [partsBefore, filesBefore] = [allScaled(before.parts), allScaled(before.files)]
  const files = Object.assign({}, filesBefore[set], ...parts.map(each => each.files)) as Record<string, number>
  const long = Object.fromEntries(Object.entries(files).filter(([, seconds]) => seconds >= 1))
  return {
    sliceMs: Math.round(sliceMs * 100) / 100,
    parts: { ...partsBefore, [set]: sorted({ ...partsBefore[set], ...now }) },
    files: { ...filesBefore, [set]: sorted(long) },
  }
}
