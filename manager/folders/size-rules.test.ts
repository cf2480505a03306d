import { expect, test } from 'vitest'
import { enforceable, sizeFault } from './size-rules.ts'

const FREE = { name: 'data', max_bytes: null, owner_max_bytes: null, owned: 50, bytes: 50 }

test.each([
  ['no limit', FREE, 1_000, undefined],
  ['exactly full', { ...FREE, max_bytes: 100 }, 50, undefined],
  ['one byte too many', { ...FREE, max_bytes: 100 }, 51, 'quota_folder_full'],
  ['all folders together', { ...FREE, max_bytes: 1_000, owner_max_bytes: 100, owned: 90 }, 11, 'quota_total_full'],
  ['the folder of a project', { ...FREE, max_bytes: 60, owned: null }, 20, 'quota_folder_full'],
  ['never measured', { ...FREE, max_bytes: 100, bytes: null }, 100, undefined],
  ['already over the limit', { ...FREE, max_bytes: 40 }, 0, 'quota_folder_full'],
])('a write is judged: %s', (_case, sizes, bytes, code) => {
  expect(sizeFault(sizes, bytes)?.code).toBe(code)
})

test('a file system enforces the smaller limit', () => {
  const both = (max_bytes: number | null, owner_max_bytes: number | null) => enforceable({ max_bytes, owner_max_bytes })
  expect([both(null, null), both(5, null), both(null, 6), both(5, 6), both(6, 5)]).toEqual([null, 5, 6, 5, 5])
})
