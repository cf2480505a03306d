import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ROOT } from './image-recipes.ts'
import { type Durations } from './test-report.ts'

/** Starts the files that took longest in the stored run first, so that no worker is left alone with a long one at the end. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const stored = JSON.parse(readFileSync(join(ROOT, 'test', 'durations.json'), 'utf8')) as Durations
    // Files below a second are not stored.
    const secondsOf = ({ moduleId }: TestSpecification) => stored[relative(ROOT, moduleId)] ?? 0
    return Promise.resolve(files.toSorted((a, b) => secondsOf(b) - secondsOf(a)))
  }
}
