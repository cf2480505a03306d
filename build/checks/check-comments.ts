// Part of `npm run lint`: every comment of the sources, or of the files that are named, begins with its subject.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { vagueComments } from './comment-rules.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const SOURCES = [
  '{base,manager,agent,proxy,cli,electron,renderer,build,test}/**/*.{ts,mts,vue,cjs,mjs,css}',
  '*.{ts,js}',
]
const ELSEWHERE = ['**/node_modules', '**/dist', 'test/output']

const named = process.argv.slice(2)
const paths = named.length > 0 ? named : globSync(SOURCES, { cwd: ROOT, exclude: ELSEWHERE })
const problems = paths
  .toSorted()
  .flatMap(path =>
    vagueComments(readFileSync(join(ROOT, path), 'utf8')).map(
      ({ line, word }) => `${path}:${line}: the comment begins with "${word}": begin with the thing that it is about`,
    ),
  )
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
