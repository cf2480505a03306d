import { createHash } from 'node:crypto'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { walk } from './walk.ts'

/** Sum over the states of files, by which two looks at a tree are compared without a list of its files. */
export interface Tally {
  add(state: Pick<FileState, 'etag'>): void
  /** Equal for the same files, in any order, none of which has changed: an ETag has the inode and the time of its last change. */
  sum(): bigint
}

export function createTally(): Tally {
  let sum = 0n
  return {
    add({ etag }) {
      sum += createHash('sha256').update(etag).digest().readBigUInt64BE()
    },
    sum: () => sum,
  }
}

/** Tally of an entry and of everything below it. @throws AppError `file_not_found`; the reason of the signal */
export async function tallyOf(
  { directory, name }: { readonly directory: Directory; readonly name: string },
  signal: AbortSignal,
): Promise<Tally> {
  const tally = createTally()
  const state = await directory.lstat(name)
  tally.add(state)
  if (state.kind !== 'directory') return tally
  await using top = await directory.enter(name)
  for await (const found of walk(top, signal, () => undefined)) tally.add(await found.directory.lstat(found.name))
  return tally
}
