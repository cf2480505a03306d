import { expect, test } from 'vitest'
import { GroupId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { enforceable, sizeFault, stagedFault } from './size-rules.ts'

const PROJECT = newId(GroupId)
const FREE = { name: 'data', group_id: null, max_bytes: null, owner_max_bytes: null, owned: 50, bytes: 50 }

test.each([
  ['no limit', FREE, 1_000, undefined],
  ['exactly full', { ...FREE, max_bytes: 100 }, 50, undefined],
  ['one byte too many', { ...FREE, max_bytes: 100 }, 51, 'quota_folder_full'],
  ['all folders together', { ...FREE, max_bytes: 1_000, owner_max_bytes: 100, owned: 90 }, 11, 'quota_total_full'],
  ['the folder of a project', { ...FREE, max_bytes: 60, owned: null }, 20, 'quota_folder_full'],
  ['all folders of a project', { ...FREE, group_id: PROJECT, owner_max_bytes: 60 }, 20, 'quota_total_full'],
  ['never measured', { ...FREE, max_bytes: 100, bytes: null }, 100, undefined],
  ['already over the limit', { ...FREE, max_bytes: 40 }, 0, 'quota_folder_full'],
])('a write is judged: %s', (_case, sizes, bytes, code) => {
  expect(sizeFault(sizes, bytes)?.code).toBe(code)
})

test.each([
  ['alone', { max_bytes: 100, staged: 50, owned_staged: 50 }, 50, undefined],
  ['beside others', { max_bytes: 100, staged: 80, owned_staged: 80 }, 40, { code: 'quota_folder_full', staged: 40 }],
  ['too large by itself', { max_bytes: 100, staged: 60, owned_staged: 60 }, 60, { code: 'quota_folder_full' }],
  [
    'beside others of the owner',
    { owner_max_bytes: 100, staged: 20, owned_staged: 60 },
    20,
    { code: 'quota_total_full', staged: 40 },
  ],
  ['a project', { max_bytes: 100, owned: null, staged: 50, owned_staged: 0 }, 50, undefined],
])('an upload is judged beside those that are not finished: %s', (_case, sizes, bytes, expected) => {
  const fault = stagedFault({ ...FREE, ...sizes }, bytes)
  const found = fault && { code: fault.code, ...('staged' in fault.detail ? { staged: fault.detail.staged } : {}) }
  expect(found).toEqual(expected)
})

test('what is said of a full project is not about an owner', () => {
  const sizes = { ...FREE, group_id: PROJECT, owner_max_bytes: 60, staged: 20, owned_staged: 40 }
  expect(sizeFault(sizes, 20)?.detail).toMatchObject({ cause: 'quota_project_full' })
  expect(stagedFault(sizes, 20)?.detail).toMatchObject({ cause: 'quota_project_staged', used: 70, staged: 20 })
})

test('a file system enforces the smaller limit', () => {
  const both = (max_bytes: number | null, owner_max_bytes: number | null) => enforceable({ max_bytes, owner_max_bytes })
  expect([both(null, null), both(5, null), both(null, 6), both(5, 6), both(6, 5)]).toEqual([null, 5, 6, 5, 5])
})
