import { existsSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import coverage, { type CoverageMapData } from 'istanbul-lib-coverage'

/** Statements of a folder's source files that the tests executed. */
export interface FolderCoverage {
  readonly folder: string
  readonly covered: number
  readonly total: number
}

/**
 * Merges the reports in these directories (`coverage-final.json`).
 * @returns one entry for each folder directly below `manager`, `agent` and the like, e.g. `manager/users`
 */
export function readCoverage(directories: readonly string[], root: string): FolderCoverage[] {
  const map = coverage.createCoverageMap({})
  for (const directory of directories) {
    const file = join(directory, 'coverage-final.json')
    if (existsSync(file)) map.merge(JSON.parse(readFileSync(file, 'utf8')) as CoverageMapData)
  }
  const folders = new Map<string, { covered: number; total: number }>()
  for (const file of map.files()) {
    const { covered, total } = map.fileCoverageFor(file).toSummary().statements
    const folder = relative(root, file).split(sep).slice(0, -1).slice(0, 2).join('/')
    const sum = folders.get(folder) ?? { covered: 0, total: 0 }
    folders.set(folder, { covered: sum.covered + covered, total: sum.total + total })
  }
  return [...folders].map(([folder, sum]) => ({ folder, ...sum })).sort((a, b) => (a.folder < b.folder ? -1 : 1))
}

const COLUMNS = 4

/** A table of percentages, four folders a line. */
export function describeCoverage(folders: readonly FolderCoverage[]): string[] {
  if (folders.length === 0) return []
  const width = Math.max(...folders.map(({ folder }) => folder.length))
  const cells = folders.map(
    ({ folder, covered, total }) =>
      `${folder.padEnd(width)} ${String(total === 0 ? 100 : Math.floor((100 * covered) / total)).padStart(3)} %`,
  )
  const rows = Array.from({ length: Math.ceil(cells.length / COLUMNS) }, (_, row) =>
    cells.slice(row * COLUMNS, (row + 1) * COLUMNS).join('   '),
  )
  return ['statements covered by unit and integration tests, in their own processes:', ...rows.map(row => `  ${row}`)]
}
