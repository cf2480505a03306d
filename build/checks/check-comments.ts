// Part of `npm run lint`: every comment of the sources begins with its subject.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { vagueComments } from './comment-rules.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const SOURCES = ['{manager,agent,proxy,cli,electron,renderer,build}/**/*.{ts,mts,vue,cjs,mjs,css}', '*.{ts,js}']
const ELSEWHERE = ['**/node_modules', '**/dist']

const problems = globSync(SOURCES, { cwd: ROOT, exclude: ELSEWHERE })
  .toSorted()
  .flatMap(path =>
    vagueComments(readFileSync(join(ROOT, path), 'utf8')).map(
      ({ line, word }) => `${path}:${line}: the comment begins with "${word}": begin with the thing that it is about`,
    ),
  )
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
