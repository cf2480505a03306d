import { expect, test } from 'vitest'
import {
  differences,
  documentedCodes,
  documentedReasons,
  errorDifferences,
  namedPaths,
  relativeLinks,
} from './doc-rules.ts'

test('error codes are read from table rows and headings, not from running text', () => {
  const page = '# Errors\n| `port_in_use` | taken |\n|`internal`|\n### `not_found`\nSee `elsewhere`.\n'
  expect(documentedCodes(page)).toEqual(['port_in_use', 'internal', 'not_found'])
})

test('a code that only one side has is reported, and so is one with two explanations', () => {
  expect(differences(['a', 'b'], ['b', 'c', 'b'])).toEqual([
    'docs/errors.md does not explain a',
    'docs/errors.md explains c, which manager/contract does not have',
    'docs/errors.md explains b twice',
  ])
  expect(differences(['a'], ['a'])).toEqual([])
})

test('a row of an error has the status, the repeatability and the next step of the table and the catalogue', () => {
  const row = (cells: string) =>
    `| code | HTTP | again | what it means | what to do |\n|---|---|---|---|---|\n| ${cells} |\n`
  const codes = { port_in_use: { status: 409, retry: false } }
  const steps = { port_in_use: 'Run "berth up" with another port.' }
  const check = (cells: string) => errorDifferences(row(cells), codes, steps)
  expect(check('`port_in_use` | 409 | no | Taken. | Run `berth up` with another port. Or close it.')).toEqual([])
  expect(check('`port_in_use` | 400 | yes | Taken. | Close it.')).toEqual([
    'docs/errors.md says 400 for port_in_use, not 409',
    'docs/errors.md says yes for port_in_use, not no',
    'docs/errors.md begins what to do about port_in_use in other words than the page: Run "berth up" with another port.',
  ])
  expect(errorDifferences(row('`port_in_use` | 409 | no | Taken. | Close it.'), codes, {})).toEqual([])
})

test('relative links are found with and without anchors; web addresses, anchors and code are not', () => {
  const page =
    '[a](x/y.md#part) ![b](p.png "title") [c](https://e.org) [d](#here) `[e](no.md)`\n```\n[f](no.md)\n```\n[g]: z.md\n'
  expect(relativeLinks(page)).toEqual(['x/y.md', 'p.png', 'z.md'])
})

test('reasons are the first cells below their heading, several of them in one cell', () => {
  const page =
    '| `an_error` | 400 |\n\n# Reasons\n\n| reason | what happened |\n|---|---|\n| one | … |\n| two, three_4 | … |\n'
  expect(documentedReasons(page)).toEqual(['one', 'two', 'three_4'])
})

test('paths and source files in inline code are found, patterns and commands are not', () => {
  const page =
    'See `manager/store/`, `tick.ts` and `App.vue`; not `npm test`, `*.ts`, `a/…`, `NNNN-what.ts`, `berth.toml` or `200/s x`.'
  expect(namedPaths(page)).toEqual(['manager/store/', 'tick.ts', 'App.vue'])
  expect(namedPaths('```\n`gone/away.ts`\n```')).toEqual([])
})
