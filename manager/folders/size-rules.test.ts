import { expect, test } from 'vitest'
import { GroupId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { amount, enforceable, sizeFault, stagedFault } from './size-rules.ts'

const PROJECT = newId(GroupId)
const BYTES = { max_bytes: null, owner_max_bytes: null, owned: 50, bytes: 50 }
const FILES = { max_files: null, owner_max_files: null, owned_files: 50, files: 50 }
const FREE = { name: 'data', group_id: null, ...BYTES, ...FILES }

test.each([
  ['no limit', FREE, 1_000, undefined],
  ['exactly full', { ...FREE, max_bytes: 100 }, 50, undefined],
  ['one byte too many', { ...FREE, max_bytes: 100 }, 51, 'quota_folder_full'],
  ['all folders together', { ...FREE, max_bytes: 1_000, owner_max_bytes: 100, owned: 90 }, 11, 'quota_total_full'],
  ['the folder of a project', { ...FREE, max_bytes: 60, owned: null }, 20, 'quota_folder_full'],
  ['all folders of a project', { ...FREE, group_id: PROJECT, owner_max_bytes: 60 }, 20, 'quota_total_full'],
  ['never measured', { ...FREE, max_bytes: 100, bytes: null }, 100, undefined],
  ['already over the limit', { ...FREE, max_bytes: 40 }, 1, 'quota_folder_full'],
  ['as much as before, over the limit', { ...FREE, max_bytes: 40 }, 0, undefined],
  ['an empty file more, over the limit', { ...FREE, max_bytes: 40 }, 0, 'quota_folder_full', 1],
  ['less than before, over the limit', { ...FREE, max_bytes: 40 }, -1, undefined],
  ['as much as before, all folders over the limit', { ...FREE, owner_max_bytes: 40 }, 0, undefined],
])('a write is judged: %s', (_case, sizes, bytes, code, files = 0) => {
  expect(sizeFault(sizes, amount(bytes, files))?.code).toBe(code)
})

test.each([
  ['the last file', { max_files: 51 }, 1, undefined],
  ['one file too many', { max_files: 50 }, 1, 'quota_folder_files'],
  ['a write to a file of a full folder', { max_files: 40 }, 0, undefined],
  ['all folders together', { max_files: 1_000, owner_max_files: 60, owned_files: 60 }, 1, 'quota_total_files'],
  ['all folders of a project', { group_id: PROJECT, owner_max_files: 50 }, 1, 'quota_total_files'],
  ['never counted', { max_files: 10, files: null }, 10, undefined],
  ['both limits', { max_files: 50, max_bytes: 50 }, 1, 'quota_folder_full'],
])('new files are judged: %s', (_case, sizes, files, code) => {
  expect(sizeFault({ ...FREE, ...sizes }, amount(1, files))?.code).toBe(code)
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
  expect(sizeFault(sizes, amount(20, 0))?.detail).toMatchObject({ cause: 'quota_project_full' })
  expect(stagedFault(sizes, 20)?.detail).toMatchObject({ cause: 'quota_project_staged', used: 70, staged: 20 })
})

test('the room of what an upload replaces is there for it, but not for others', () => {
  const sizes = { ...FREE, max_bytes: 100, staged: 70, owned_staged: 70 }
  expect(stagedFault(sizes, 70, 20)).toBeUndefined()
  expect(stagedFault({ ...sizes, max_bytes: 20 }, 70, 70)).toBeUndefined()
  expect(stagedFault(sizes, 70, 19)?.detail).toMatchObject({ bytes: 51, values: { limit: '100 bytes' } })
})

test.each([
  ['the folder', { max_bytes: 100, staged: 200, owned_staged: 0 }, 100, 'quota_folder_full', 'quota_folder_staged'],
  [
    'all folders',
    { owner_max_bytes: 100, staged: 0, owned_staged: 200 },
    100,
    'quota_total_full',
    'quota_total_staged',
  ],
  [
    'a smaller file',
    { max_bytes: 100, staged: 190, owned_staged: 190 },
    90,
    'quota_folder_full',
    'quota_folder_staged',
  ],
])('the room of one file is not there for several uploads that replace it: %s', (_case, sizes, size, code, cause) => {
  const detail = { cause, bytes: 0, staged: 100 }
  expect(stagedFault({ ...FREE, bytes: 100, owned: 100, ...sizes }, size, 100)).toMatchObject({ code, detail })
})

test('an upload that takes no further room is fine over the limit, unless others are not finished', () => {
  const over = { ...FREE, max_bytes: 40, owner_max_bytes: 40, staged: 30, owned_staged: 30 }
  expect([stagedFault(over, 30, 30), stagedFault(over, 30, 31)]).toEqual([undefined, undefined])
  expect(stagedFault({ ...over, owned_staged: 31 }, 30, 30)?.code).toBe('quota_total_full')
})

test('a file system enforces the smaller limit', () => {
  const both = (own: number | null, ofOwner: number | null) =>
    enforceable({ max_bytes: own, owner_max_bytes: ofOwner, max_files: ofOwner, owner_max_files: own })
  expect([both(null, null), both(5, null), both(null, 6), both(5, 6), both(6, 5)]).toEqual(
    [null, 5, 6, 5, 5].map(least => ({ bytes: least, files: least })),
  )
})
