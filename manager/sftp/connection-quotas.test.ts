import { expect, test } from 'vitest'
import { FolderId } from '#manager/contract'
import { amount } from '../folders/size-rules.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { newId } from '../store/new-id.ts'
import { type FileState } from '../storage/file-state.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { ConnectionQuotas } from './connection-quotas.ts'

const aRow = (id: FolderId, maxBytes: number) => ({ id, max_bytes: maxBytes }) as FolderRow

/** Quotas that record their calls. */
function someQuotas() {
  const calls: string[] = []
  const quotas = new ConnectionQuotas({
    meter: ({ max_bytes: limit }) => ({
      take: ({ bytes }) => Promise.resolve(void calls.push(`take ${bytes} of ${limit}`)),
      [Symbol.asyncDispose]: () => Promise.resolve(void calls.push(`give back of ${limit}`)),
    }),
    require: (_row, { bytes }) => Promise.resolve(void calls.push(`require ${bytes}`)),
    freeing: async (_row, _inode, work) => void calls.push(`freed ${(await work()).bytes}`),
  })
  return { quotas, calls }
}

test('writes share the meter of a folder until its limits are read anew, and the end gives back the rest of each', async () => {
  const { quotas, calls } = someQuotas()
  const [first, second] = [newId(FolderId), newId(FolderId)]
  const row = aRow(first, 100)
  await quotas.take(row, amount(1, 0))
  await quotas.take(row, amount(2, 0))
  await quotas.take(aRow(second, 50), amount(3, 0))
  await quotas.take(aRow(first, 70), amount(4, 0))
  expect(calls.splice(0)).toEqual([
    'take 1 of 100',
    'take 2 of 100',
    'take 3 of 50',
    'give back of 100',
    'take 4 of 70',
  ])
  await quotas[Symbol.asyncDispose]()
  expect(calls).toEqual(['give back of 70', 'give back of 50'])
})

test.each<[string, number, string[]]>([
  ['grows must fit', 150, ['require 50', 'size 150']],
  ['keeps its size needs nothing', 100, ['size 100']],
  ['shrinks gives back what it has on the disk, not its holes', 30, ['size 30', 'freed 34']],
])('a file that %s', async (_what, size, expected) => {
  const { quotas, calls } = someQuotas()
  const file = {
    state: () => Promise.resolve({ size: 100, allocated: 64, inode: 7n } as FileState),
    truncate: (to: number) => Promise.resolve(void calls.push(`size ${to}`)),
  } as OpenFile
  await quotas.resize(aRow(newId(FolderId), 0), file, size)
  expect(calls).toEqual(expected)
})
