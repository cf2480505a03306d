import { type FolderId } from '#manager/contract'
import { type FileState } from '../storage/file-state.ts'

/** Files that this many later ones of the connection have followed are not remembered as its own. */
const MOST_REMEMBERED = 1_000

type Known = Pick<FileState, 'inode' | 'bornNs' | 'changedNs'>

/**
 * Files that one connection has made.
 *
 * Threat model: a file system gives the inode of a deleted file to the next one, so an inode says nothing about who made the file, and
 * files are deleted by other ways too. A file counts as own only with the time at which it was made. Where the file system does not
 * tell that time, it is the time of the last change: the connection notes it whenever it has changed the file itself, and a file that
 * anybody else has changed since is not its own any more.
 */
export class OwnFiles {
  readonly #marks = new Map<string, bigint>()

  /** Notes a file that was made, or that the connection itself has changed. */
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

  /** Notes that a file is gone, or is about to be. */
  forget(folder: FolderId, state: Known): void {
    this.#marks.delete(keyOf(folder, state))
  }
}

const keyOf = (folder: FolderId, { inode }: Known) => `${folder}/${inode}`

const markOf = ({ bornNs, changedNs }: Known) => bornNs ?? changedNs
