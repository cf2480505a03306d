import { type FolderId } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type Listing } from '../storage/listing.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { type FilledPart } from './filled-part.ts'
import { type NamedEntry, MOST_HANDLES } from './protocol.ts'
import { Refused } from './refused.ts'
import { type HeldFolder } from './tree.ts'

/** A file that a client has open. */
export interface FileHandle {
  readonly kind: 'file'
  readonly file: OpenFile
  readonly folderId: FolderId
  /** Directory that holds the file, relative to the folder. */
  readonly directory: string
  readonly mayRead: boolean
  readonly mayWrite: boolean
  /** True if writes go to the end, whatever offset the client gives. */
  readonly appends: boolean
  /** Whether this connection has created the file, and only the time of its last change shows that (`OwnFiles`). */
  readonly isOwn: boolean
  /** When it was opened. */
  readonly size: number
  isWritten: boolean
  readonly filled: FilledPart
}

/** A directory in a folder that a client is listing. */
export interface DirectoryHandle {
  readonly kind: 'directory'
  readonly held: HeldFolder
  readonly directory: Directory
  readonly listing: Listing
  /** Entries that did not fit into the last reply. */
  rest: NamedEntry[]
}

/** The list of folders, which is read completely. */
export interface TopHandle {
  readonly kind: 'top'
  rest: NamedEntry[]
}

export type Handle = FileHandle | DirectoryHandle | TopHandle

/** Open files and directories of one connection, at most MOST_HANDLES. Disposing closes all of them. */
export class Handles implements AsyncDisposable {
  readonly #handles = new Map<string, Handle>()
  #next = 0

  /** Call before something is opened. @throws Refused */
  requireFreeHandle(): void {
    if (this.#handles.size < MOST_HANDLES) return
    throw new Refused('failure', `At most ${MOST_HANDLES} files and directories may be open. Close some of them.`)
  }

  add(handle: Handle): string {
    const name = (this.#next++).toString(36)
    this.#handles.set(name, handle)
    return name
  }

  /** @throws Refused */
  get(name: string): Handle {
    const handle = this.#handles.get(name)
    if (!handle) throw new Refused('failure', 'The handle is not open.')
    return handle
  }

  /** @throws Refused if the handle is not that of an open file */
  file(name: string): FileHandle {
    const handle = this.get(name)
    if (handle.kind !== 'file') throw new Refused('failure', 'The handle is that of a directory.')
    return handle
  }

  /** @returns the closed handle @throws Refused; AppError if data could not be written */
  async close(name: string): Promise<Handle> {
    const handle = this.get(name)
    this.#handles.delete(name)
    if (handle.kind === 'file') await handle.file.close()
    else await release(handle)
    return handle
  }

  [Symbol.iterator](): IterableIterator<Handle> {
    return this.#handles.values()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#handles.values()]
    this.#handles.clear()
    await Promise.all(all.map(release))
  }
}

async function release(handle: Handle): Promise<void> {
  if (handle.kind === 'file') await handle.file[Symbol.asyncDispose]()
  if (handle.kind !== 'directory') return
  await handle.listing[Symbol.asyncDispose]()
  await handle.directory[Symbol.asyncDispose]()
  await handle.held[Symbol.asyncDispose]()
}
