// Part of `npm run lint`: compares errors and reasons with their documentation, both ways, with the next steps that the page shows,
// and checks every relative link of every *.md file, and the paths and source files that the pages name. Decisions and the changelog tell of their own time: the
// paths in them may be gone.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { ERRORS, REASON_CODES } from '#manager/contract'
import { readCatalogue } from '../read-catalogue.ts'
import {
  differences,
  documentedCodes,
  documentedReasons,
  errorDifferences,
  namedPaths,
  relativeLinks,
} from './doc-rules.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** Folders that pages name and that exist only after a run. */
const MADE = new Set(['applets/', 'crashes/', 'lib/', 'test/output/'])
const ELSEWHERE = new Set(['node_modules', 'dist', '.git', 'coverage', '.cache'])

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    if (ELSEWHERE.has(entry.name)) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : [path]
  })
}

const files = filesIn(ROOT)
const papers = files.filter(path => path.endsWith('.md'))
const names = new Set(files.map(path => basename(path)))
const ofHistory = (paper: string) => /^(docs\/adr\/|CHANGELOG\.md$)/.test(relative(ROOT, paper))

/** Whether a path that a page names is there: from the root, from the page's folder, or as the tail of a path. */
function isThere(paper: string, path: string): boolean {
  if (!path.includes('/')) return names.has(path)
  const [first = ''] = path.split('/')
  // Generated files exist only after a build.
  if (ELSEWHERE.has(first)) return true
  const bases = [ROOT, dirname(paper)].filter(base => existsSync(join(base, first)))
  if (bases.some(base => existsSync(join(base, path)))) return true
  // The tail of a path, as `plan/plan.ts` in a sentence about the scheduler.
  if (/\.(ts|mts|vue)$/.test(path)) return files.some(file => file.endsWith(`/${path}`))
  // A folder of the sources, such as `plan/`; other folders are those of computers and images.
  if (/^[a-z-]+\/$/.test(path)) return files.some(file => file.includes(`/${path}`))
  return bases.length === 0
}

const errorsPage = join(ROOT, 'docs', 'errors.md')
const errors = readFileSync(errorsPage, 'utf8')
const problems = [
  ...differences(Object.keys(ERRORS), documentedCodes(errors)),
  ...differences(REASON_CODES, documentedReasons(errors)),
  ...errorDifferences(errors, ERRORS, await readCatalogue(join(ROOT, 'renderer', 'words', 'en', 'error-steps.ts'))),
]
for (const paper of papers) {
  const text = readFileSync(paper, 'utf8')
  for (const link of relativeLinks(text)) {
    if (!existsSync(join(dirname(paper), link)))
      problems.push(`${relative(ROOT, paper)} links to ${link}, which is not there`)
  }
  if (ofHistory(paper)) continue
  for (const path of namedPaths(text)) {
    if (!MADE.has(path) && !isThere(paper, path))
      problems.push(`${relative(ROOT, paper)} names ${path}, which is not there`)
  }
}
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
