import { execFileSync } from 'node:child_process'
import { ROOT } from '../bootstrap/image-recipes.ts'

/**
 * Time that all files of a package get, in seconds: SOURCE_DATE_EPOCH, otherwise the time of the commit, otherwise 0 (sources without git).
 * So two builds of one commit produce the same bytes.
 *
 * @see https://reproducible-builds.org/specs/source-date-epoch/
 */
export function sourceDate(): number {
  const given = process.env.SOURCE_DATE_EPOCH
  if (given !== undefined) {
    if (!/^\d+$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH is not a number of seconds: ${given}`)
    return Number(given)
  }
  try {
    return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }))
  } catch {
    return 0
  }
}
