import { type FolderId } from '#manager/contract'
import { type FileState } from '../storage/file-state.ts'

/** Largest number of own files that are remembered; older ones are forgotten. */
const MOST_REMEMBERED = 1_000

type Known = Pick<FileState, 'inode' | 'bornNs' | 'changedNs'>

/**
 * Files that one connection has created.
 *
 * Threat model: a file system reuses the inode of a deleted file, so an inode alone does not prove who created the file, and files are
 * deleted by other ways too. A file counts as own only together with its creation time. If the file system does not store that time, the
 * time of the last change is used: the connection records it whenever it changes the file itself, and a file that anybody else has changed
 * since is not its own any more.
 */
export class OwnFiles {
  readonly #marks = new Map<string, bigint>()

  /** Records a file that this connection has created or changed. */
  add(folder: FolderId, state: Known): void {
    const key = keyOf(folder, state)
    this.#marks.delete(key)
    this.#marks.set(key, markOf(state))
    const [oldest] = this.#marks.keys()
    if (this.#marks.size > MOST_REMEMBERED && oldest !== undefined) this.#marks.delete(oldest)
  }

  has(folder: FolderId, state: Known): boolean {
    return this.#marks.get(keyOf(folder, state)) === markOf(state)
  }

  /** Records that a file is gone, or is about to be. */
  forget(folder: FolderId, state: Known): void {
    this.#marks.delete(keyOf(folder, state))
  }
}

const keyOf = (folder: FolderId, { inode }: Known) => `${folder}/${inode}`

const markOf = ({ bornNs, changedNs }: Known) => bornNs ?? changedNs
