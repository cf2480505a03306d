import { type UserId } from '#manager/contract'
import { type FileHints } from '../files/hints.ts'
import { type FolderQuotas } from '../folders/folder-quotas.ts'
import { onBehalfOf } from '../store/on-behalf.ts'
import { createEntryChanges } from './change-entries.ts'
import { ChangeCount, type NoteChange } from './changes-made.ts'
import { ConnectionQuotas } from './connection-quotas.ts'
import { fileSystemStatsOf, statsOfTop } from './file-system-stats.ts'
import { Handles } from './handles.ts'
import { nextEntries, openList } from './list-entries.ts'
import { attributesAt, realPathAt } from './look-up.ts'
import { createOpenFiles } from './open-files.ts'
import { OwnFiles } from './own-files.ts'
import { placeOf } from './place.ts'
import { END, OK, type Reply, type Request, type RequestOf } from './protocol.ts'
import { Refused } from './refused.ts'
import { createSpots } from './spots.ts'
import { type Tree } from './tree.ts'

/** Requests other than reads and writes that need the folders. */
export type PlainRequest = Exclude<Request, RequestOf<'read' | 'write' | 'limits' | 'refused'>>

/** The operations of one connection on the folders of its user. Disposing closes everything that it has opened. */
export interface Operations extends AsyncDisposable {
  /** Changes so far. */
  readonly changes: ChangeCount
  /** @throws AppError, Refused */
  answer(request: PlainRequest): Promise<Reply>
  /** Fills adjacent parts from an open file. @returns number of bytes; fewer only at the end of the file @throws AppError, Refused */
  read(handle: string, position: number, into: readonly Uint8Array[]): Promise<number>
  /** Writes adjacent parts into an open file. @throws AppError, Refused */
  write(handle: string, position: number, parts: readonly Uint8Array[]): Promise<void>
}

export interface OperationsDeps {
  readonly userId: UserId
  readonly tree: Tree
  readonly hints: Pick<FileHints, 'changed'>
  readonly quotas: Pick<FolderQuotas, 'meter' | 'require' | 'freeing'>
}

/**
 * Executes the requests of one connection.
 *
 * Permissions mean the same as in the HTTP API: `ro` lists and reads, `rw` creates and changes files, `delete` also renames and deletes.
 * Programs upload under a temporary name; so `rw` also allows renaming and deleting files that the connection itself has created. Each
 * operation checks the right again, also on open files (`leases.ts`).
 */
export function createOperations({ userId, tree, hints, quotas }: OperationsDeps): Operations {
  const handles = new Handles()
  const changes = new ChangeCount()
  const own = new OwnFiles()
  const taken = new ConnectionQuotas(quotas)
  const spots = createSpots(tree)
  const noteChange: NoteChange = (id, directory, how) => {
    changes.add(id, how)
    hints.changed(id, directory)
  }
  const files = createOpenFiles({ handles, tree, spots, quotas: taken, own, noteChange })
  const entries = createEntryChanges({ tree, spots, quotas: taken, own, hints, noteChange })

  async function openDirectory(path: Buffer): Promise<Reply> {
    handles.requireFreeHandle()
    return { kind: 'handle', handle: handles.add(await openList(tree, path)) }
  }

  async function readDirectory(name: string): Promise<Reply> {
    const handle = handles.get(name)
    if (handle.kind === 'file') throw new Refused('failure', 'The handle is that of a file.')
    if (handle.kind === 'directory') await tree.require(handle.held.id, 'ro')
    const found = await nextEntries(handle)
    return found.length === 0 ? END : { kind: 'names', entries: found }
  }

  async function statsAt(path: Buffer): Promise<Reply> {
    const place = placeOf(path)
    return {
      kind: 'stats',
      stats: place.kind === 'top' ? await statsOfTop(tree) : await fileSystemStatsOf(tree, place.folder),
    }
  }

  async function answer(request: PlainRequest): Promise<Reply> {
    switch (request.kind) {
      case 'open':
        return { kind: 'handle', handle: await files.open(request) }
      case 'close':
        return done(files.close(request.handle))
      case 'lstat':
      case 'stat': {
        const attributes = await attributesAt({ tree, spots }, request.path, request.kind === 'stat')
        return { kind: 'attributes', attributes }
      }
      case 'fstat':
        return { kind: 'attributes', attributes: await files.attributes(request.handle) }
      case 'setstat':
        return done(entries.setAttributes(request.path, request.attributes))
      case 'fsetstat':
        return done(files.setAttributes(request.handle, request.attributes))
      case 'opendir':
        return openDirectory(request.path)
      case 'readdir':
        return readDirectory(request.handle)
      case 'remove':
        return done(entries.remove(request.path, 'file'))
      case 'rmdir':
        return done(entries.remove(request.path, 'directory'))
      case 'mkdir':
        return done(entries.makeDirectory(request.path, request.attributes))
      case 'realpath':
        return nameReply(await realPathAt(tree, request.path))
      case 'readlink':
        return nameReply(await spots.at(request.path, 'ro', ({ directory, name }) => directory.readlink(name)))
      case 'rename':
        return done(entries.rename(request))
      case 'fsync':
        return done(files.sync(request.handle))
      case 'statvfs':
        return statsAt(request.path)
    }
  }

  async function close(): Promise<void> {
    // The client has left without closing these.
    files.noteUnclosed()
    await handles[Symbol.asyncDispose]()
    await taken[Symbol.asyncDispose]()
    await tree[Symbol.asyncDispose]()
  }

  return {
    changes,
    answer: request => onBehalfOf(userId, () => answer(request)),
    read: (handle, position, into) => onBehalfOf(userId, () => files.read(handle, position, into)),
    write: (handle, position, parts) => onBehalfOf(userId, () => files.write(handle, position, parts)),
    [Symbol.asyncDispose]: () => onBehalfOf(userId, close),
  }
}

async function done(change: Promise<void>): Promise<Reply> {
  await change
  return OK
}

const nameReply = (name: Buffer): Reply => ({ kind: 'names', entries: [{ name, attributes: {} }] })
