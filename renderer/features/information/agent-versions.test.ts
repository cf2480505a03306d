import { expect, test } from 'vitest'
import { groupVersions } from './agent-versions.ts'

test('hosts with the same versions are one group, the largest first, without forgotten ones', () => {
  const host = (name: string, engineVersion: string, status: 'CONNECTED' | 'REVOKED' = 'CONNECTED') => ({
    name,
    status,
    version: '1',
    engineVersion,
  })
  const groups = groupVersions([
    host('a', '28'),
    host('b', '29'),
    host('c', '29'),
    host('d', '29', 'REVOKED'),
    host('e', ''),
  ])
  expect(groups.map(({ engine, names }) => [engine, names])).toEqual([
    ['29', ['b', 'c']],
    ['28', ['a']],
    ['–', ['e']],
  ])
})
