import { expect, test } from 'vitest'
import { FolderId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { OwnFiles } from './own-files.ts'

const folder = newId(FolderId)
const state = (inode: bigint, bornNs: bigint | undefined, changedNs: bigint) => ({ inode, bornNs, changedNs })

test('a file keeps its maker through changes; another one with its inode, or in another folder, does not have it', () => {
  const own = new OwnFiles()
  own.add(folder, state(7n, 100n, 100n))
  expect(own.has(folder, state(7n, 100n, 250n))).toBe(true)
  expect(own.has(folder, state(7n, 200n, 250n))).toBe(false)
  expect(own.has(newId(FolderId), state(7n, 100n, 100n))).toBe(false)
  own.forget(folder, state(7n, 100n, 250n))
  expect(own.has(folder, state(7n, 100n, 250n))).toBe(false)
})

test('without the time of making, a file that somebody else has changed is not own', () => {
  const own = new OwnFiles()
  own.add(folder, state(7n, undefined, 100n))
  expect(own.has(folder, state(7n, undefined, 100n))).toBe(true)
  expect(own.has(folder, state(7n, undefined, 150n))).toBe(false)
  own.add(folder, state(7n, undefined, 150n))
  expect(own.has(folder, state(7n, undefined, 150n))).toBe(true)
})

test('only the last thousand are remembered; one that was changed counts as new', () => {
  const own = new OwnFiles()
  for (let inode = 0n; inode < 1_000n; inode++) own.add(folder, state(inode, 1n, 1n))
  own.add(folder, state(0n, 1n, 2n))
  own.add(folder, state(1_000n, 1n, 1n))
  expect([0n, 1n, 2n, 1_000n].map(inode => own.has(folder, state(inode, 1n, 1n)))).toEqual([true, false, true, true])
})
