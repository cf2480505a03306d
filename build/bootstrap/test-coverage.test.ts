import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeCoverage, readCoverage } from './test-coverage.ts'

const at = (line: number) => ({ start: { line, column: 0 }, end: { line, column: 9 } })

/** Istanbul's record of a file with one statement per line. @param hits number of runs of each statement */
const record = (path: string, hits: readonly number[]) => ({
  [path]: {
    path,
    statementMap: Object.fromEntries(hits.map((_, index) => [index, at(index + 1)])),
    s: Object.fromEntries(hits.entries()),
    fnMap: {},
    f: {},
    branchMap: {},
    b: {},
  },
})

test('reports of several parts are merged: a statement that one part executed is covered', () => {
  const directories = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'berth-test-')))
  try {
    const [one = '', two = ''] = directories
    writeFileSync(join(one, 'coverage-final.json'), JSON.stringify(record('/clone/manager/users/a.ts', [1, 0, 0, 0])))
    const more = { ...record('/clone/manager/users/a.ts', [0, 2, 0, 0]), ...record('/clone/cli/main.ts', [1]) }
    writeFileSync(join(two, 'coverage-final.json'), JSON.stringify(more))
    const folders = readCoverage([...directories, '/nonexistent'], '/clone')
    expect(folders).toEqual([
      { folder: 'cli', covered: 1, total: 1 },
      { folder: 'manager/users', covered: 2, total: 4 },
    ])
    expect(describeCoverage(folders)[1]).toBe('  cli           100 %   manager/users  50 %')
  } finally {
    for (const directory of directories) rmSync(directory, { recursive: true })
  }
})
