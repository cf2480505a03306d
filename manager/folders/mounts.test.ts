import { expect, test } from 'vitest'
import { FolderId, MOST_FOLDERS, UserId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { automaticMounts } from './mounts.ts'

const [ME, OTHER] = [{ userId: newId(UserId) }, newId(UserId)]
const folder = (name: string, more: { user_id?: UserId | null; is_cloning?: boolean } = {}) => ({
  id: newId(FolderId),
  name,
  user_id: ME.userId,
  is_cloning: false,
  ...more,
})
const dotFolders = (count: number) => Array.from({ length: count }, (_, index) => folder(`.f${index}`))
const NONE: ReadonlySet<FolderId> = new Set()

test('own dot-folders are mounted at their names in the home, for reading and writing', () => {
  const mine = folder('.local')
  const others = [
    folder('data'),
    folder('.of-another', { user_id: OTHER }),
    folder('.of-a-project', { user_id: null }),
    folder('.still-a-copy', { is_cloning: true }),
  ]
  expect(automaticMounts([mine, ...others], ME, NONE)).toEqual([
    { folderId: mine.id, name: '.local', path: '.local', readOnly: false, automatic: true },
  ])
})

test('50 dot-folders are mounted automatically; one more refuses the launch and says how many there are', () => {
  expect(automaticMounts(dotFolders(MOST_FOLDERS), ME, NONE)).toHaveLength(50)
  expect(() => automaticMounts(dotFolders(51), ME, NONE)).toThrow(
    expect.objectContaining({
      code: 'bad_request',
      detail: expect.objectContaining({ cause: 'dot_folders_at_most', values: { count: 51, limit: 50 } }) as unknown,
    }),
  )
})

test('folders that are not mounted automatically take no place among the 50', () => {
  const all = dotFolders(51)
  const [asked, ...rest] = all
  expect(automaticMounts(all, ME, new Set(asked && [asked.id]))).toHaveLength(50)
  const more = [
    folder('.of-another', { user_id: OTHER }),
    folder('.still-a-copy', { is_cloning: true }),
    folder('data'),
  ]
  expect(automaticMounts([...rest, ...more], ME, NONE)).toHaveLength(50)
})
