import { createHash } from 'node:crypto'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { walk } from './walk.ts'

/** Digest of the states of files: compares two readings of a tree without a list of its files. */
export interface TreeDigest {
  add(state: Pick<FileState, 'etag'>): void
  /** Equal for the same unchanged files in any order: an ETag has the inode and the time of its last change. */
  sum(): bigint
}

export function createTreeDigest(): TreeDigest {
  let sum = 0n
  return {
    add({ etag }) {
      sum += createHash('sha256').update(etag).digest().readBigUInt64BE()
    },
    sum: () => sum,
  }
}

/** Digest of an entry and of everything below it. @throws AppError `file_not_found`; the reason of the signal */
export async function digestOfTree(
  { directory, name }: { readonly directory: Directory; readonly name: string },
  signal: AbortSignal,
): Promise<TreeDigest> {
  const digest = createTreeDigest()
  const state = await directory.lstat(name)
  digest.add(state)
  if (state.kind !== 'directory') return digest
  await using top = await directory.enter(name)
  for await (const found of walk(top, signal, () => undefined)) digest.add(await found.directory.lstat(found.name))
  return digest
}
