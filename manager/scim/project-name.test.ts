import { expect, test } from 'vitest'
import { GroupName } from '#manager/contract'
import { projectNameOf } from './project-name.ts'

test.each([
  ['Vision', 'Vision'],
  ['vision_lab-2.0', 'vision_lab-2.0'],
  ['Data Science Team', 'Data-Science-Team'],
  ['R&D / Köln (Süd)', 'R-D-Koln-Sud'],
  ['  -_. x ._-', 'x'],
  ['데이터 팀', 'group'],
  ['데이터 team 3', 'team-3'],
  ['019a0000-0000-7000-8000-000000000000', 'group-019a0000-0000-7000-8000-000000000000'],
  ['a'.repeat(63) + '  b', 'a'.repeat(63)],
])('the project of %j is %j', (displayName, name) => {
  expect(projectNameOf(displayName)).toBe(name)
  for (const count of [1, 2, 20]) expect(GroupName.safeParse(projectNameOf(displayName, count)).success).toBe(true)
})

test('further names differ, also for long ones', () => {
  expect(projectNameOf('Data Science', 2)).toBe('Data-Science-2')
  expect(projectNameOf('a'.repeat(200), 12)).toBe(`${'a'.repeat(61)}-12`)
})
