// Part of `npm run lint`: compares errors and reasons with their documentation, both ways, and checks every relative link of
// every *.md file.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { ERRORS, REASON_CODES } from '#manager/contract'
import { differences, documentedCodes, documentedReasons, relativeLinks } from './doc-rules.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const ELSEWHERE = new Set(['node_modules', 'dist', '.git', 'coverage', '.cache'])

function papers(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    if (ELSEWHERE.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return papers(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

const errorsPage = join(ROOT, 'docs', 'errors.md')
const errors = readFileSync(errorsPage, 'utf8')
const problems = [
  ...differences(Object.keys(ERRORS), documentedCodes(errors)),
  ...differences(REASON_CODES, documentedReasons(errors)),
]
for (const paper of papers(ROOT)) {
  for (const link of relativeLinks(readFileSync(paper, 'utf8'))) {
    if (!existsSync(join(dirname(paper), link)))
      problems.push(`${relative(ROOT, paper)} links to ${link}, which is not there`)
  }
}
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
