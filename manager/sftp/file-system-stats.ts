import { isAppError } from '#manager/contract'
import { type FileSystemStats } from './protocol.ts'
import { type Tree } from './tree.ts'

/** Figures of the file system of a folder. */
export async function fileSystemStatsOf(tree: Pick<Tree, 'hold'>, folder: string): Promise<FileSystemStats> {
  await using held = await tree.hold(folder, 'ro')
  const { bsize, blocks, bfree, bavail, files, ffree } = await held.folder.top.fileSystem()
  return { blockSize: bsize, blocks, freeBlocks: bfree, availableBlocks: bavail, files, freeFiles: ffree }
}

/**
 * Figures for the top directory: those of the storage with the least free room of all that have folders of the user, so that a program is
 * not promised more than it would get in any of them. Without folders, 0 is free.
 */
export async function statsOfTop(tree: Pick<Tree, 'hold' | 'list'>): Promise<FileSystemStats> {
  const ofHost = new Map([...(await tree.list())].map(([name, { storage_host }]) => [storage_host, name]))
  const all = await Promise.all([...ofHost.values()].map(name => fileSystemStatsOf(tree, name).catch(ofAbsent)))
  const free = ({ blockSize, availableBlocks }: FileSystemStats) => blockSize * availableBlocks
  return all.reduce((least, one) => (one && (!least || free(one) < free(least)) ? one : least), undefined) ?? NONE
}

const NONE: FileSystemStats = {
  blockSize: 4096,
  blocks: 0,
  freeBlocks: 0,
  availableBlocks: 0,
  files: 0,
  freeFiles: 0,
}

/** Skips a storage that is away, or a folder that is no longer shared. */
function ofAbsent(error: unknown): undefined {
  if (!isAppError(error)) throw error
}
