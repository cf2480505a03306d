import { type FolderId } from '#manager/contract'

/** Counts of a connection's changes in a folder, for the audit log. */
export interface ChangesMade {
  made: number
  written: number
  renamed: number
  deleted: number
}

/** Counts the changes of one connection, by folder. */
export class ChangeCount {
  readonly #folders = new Map<FolderId, ChangesMade>()

  add(id: FolderId, kind: keyof ChangesMade): void {
    const counts = this.#folders.get(id) ?? { made: 0, written: 0, renamed: 0, deleted: 0 }
    counts[kind]++
    this.#folders.set(id, counts)
  }

  [Symbol.iterator](): IterableIterator<[FolderId, ChangesMade]> {
    return this.#folders.entries()
  }
}

/** Records a change of an entry in a directory of a folder. */
export type NoteChange = (id: FolderId, directory: string, how: keyof ChangesMade) => void
