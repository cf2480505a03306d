import { expect, test } from 'vitest'
import { type AccessMatrix } from '#manager/contract'
import { linesOf, usersOf, withGrants, withoutGrant } from './access-matrix.ts'

const VISION = 'p-vision'
const SPEECH = 'p-speech'
const project = (id: string, name: string) =>
  ({ id, name, active: true }) as AccessMatrix['domains'][number]['projects'][number]
const MATRIX: AccessMatrix = {
  resourceGroups: [
    { name: 'default', active: true },
    { name: 'gpu', active: true },
  ],
  domains: [
    { name: 'chemistry', active: false, projects: [] },
    { name: 'default', active: true, projects: [project(SPEECH, 'speech'), project(VISION, 'vision')] },
  ],
  grants: [
    { resourceGroup: 'default', kind: 'domain', id: 'default', name: 'default' },
    { resourceGroup: 'default', kind: 'group', id: SPEECH, name: 'default/speech' },
    { resourceGroup: 'gpu', kind: 'group', id: VISION, name: 'default/vision' },
    { resourceGroup: 'gpu', kind: 'user', id: 'u-1', name: 'ada@example.org' },
  ],
}
const shown = (matrix: AccessMatrix, opened: readonly string[]) =>
  linesOf(matrix, { opened: new Set(opened) }).map(({ name, cells }) => [
    name,
    ...cells.map(({ granted, inherited, projects }) =>
      [granted ? 'own' : '-', ...(inherited ? ['domain'] : []), ...(projects > 0 ? [projects] : [])].join(' '),
    ),
  ])

test('a domain says how many of its projects may use what it may not use itself', () => {
  expect(shown(MATRIX, [])).toEqual([
    ['chemistry', '-', '-'],
    ['default', 'own', '- 1'],
  ])
})

test('an opened domain has its projects below it, with what they have through it beside grants of their own', () => {
  expect(shown(MATRIX, ['default'])).toEqual([
    ['chemistry', '-', '-'],
    ['default', 'own', '- 1'],
    ['speech', 'own domain', '-'],
    ['vision', '- domain', 'own'],
  ])
})

test('a search shows the projects that match below their domain, and the domains that match', () => {
  const found = (search: string, opened: readonly string[] = []) =>
    linesOf(MATRIX, { opened: new Set(opened), search }).map(({ name }) => name)
  expect(found(' VIS ')).toEqual(['default', 'vision'])
  expect(found('vis', ['default'])).toEqual(['default', 'vision'])
  expect(found('chem')).toEqual(['chemistry'])
  expect(found('efau', ['default'])).toEqual(['default', 'speech', 'vision'])
  expect(found('nothing')).toEqual([])
})

test('a grant and a withdrawal change their resource group only', () => {
  const chemistry = { kind: 'domain', id: 'chemistry', name: 'chemistry' } as const
  const more = withGrants(MATRIX, 'gpu', [chemistry])
  expect(shown(more, [])).toEqual([
    ['chemistry', '-', 'own'],
    ['default', 'own', '-'],
  ])
  expect(shown(withoutGrant(more, 'gpu', chemistry), [])).toEqual([
    ['chemistry', '-', '-'],
    ['default', 'own', '-'],
  ])
  const closed = withoutGrant(MATRIX, 'default', { kind: 'domain', id: 'default' })
  expect(shown(closed, ['default']).at(-1)).toEqual(['vision', '-', 'own'])
})

test('users with a grant of their own are counted by resource group', () => {
  expect(usersOf(MATRIX)).toEqual([
    { name: 'default', users: 0 },
    { name: 'gpu', users: 1 },
  ])
})
