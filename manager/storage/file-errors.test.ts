import { expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { renamedError, toFileError } from './file-errors.ts'

const systemError = (code: string) => Object.assign(new Error(`${code}: refused, open`), { code, syscall: 'open' })

test.each([
  ['ENOENT', 'file_not_found', 'file_missing', '"a.txt" does not exist.'],
  ['ENOSPC', 'disk_full', 'storage_no_space', '"a.txt" cannot be written: the storage has no space left.'],
  ['EROFS', 'storage_away', 'storage_read_only', '"a.txt" cannot be changed: the storage is mounted read-only.'],
])('%s is told by a code, and by a cause that other languages have', (errno, code, cause, why) => {
  expect(toFileError(systemError(errno), 'a.txt')).toMatchObject({
    code,
    detail: { name: 'a.txt', why, cause, values: { name: 'a.txt' } },
  })
})

test('an error of a file in the making names the file of the user; others stay', () => {
  const draft = toFileError(systemError('ENOSPC'), '.berth-1')
  expect(renamedError(draft, '.berth-1', 'a.txt')).toMatchObject({
    code: 'disk_full',
    detail: {
      name: 'a.txt',
      why: '"a.txt" cannot be written: the storage has no space left.',
      values: { name: 'a.txt' },
    },
  })
  expect(renamedError(draft, 'b', 'a.txt')).toBe(draft)
  const own = new Error('b')
  expect(renamedError(own, 'b', 'a.txt')).toBe(own)
})

test('an error that is told already, and one that no file system gives, stay as they are', () => {
  const told = new AppError('file_exists', { name: 'b' })
  expect(toFileError(told, 'a.txt')).toBe(told)
  const other = systemError('EWHATEVER')
  expect(toFileError(other, 'a.txt')).toBe(other)
  const inherited = systemError('toString')
  expect(toFileError(inherited, 'a.txt')).toBe(inherited)
})
