import { type FolderId } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type Caller } from '../users/authorize.ts'
import { entriesOf, requireFewFiles } from './archive.ts'
import { bundleOf } from './bundle.ts'
import { checksumsOf } from './checksums.ts'
import { openContent, type SentContent, type Watched } from './content.ts'
import { requireFewParts } from './few-parts.ts'
import { type HeavyRequest, type HeavyWork } from './heavy-work.ts'
import { type FolderOpener, type FolderRights } from './open-folder.ts'
import { zipOf } from './zip.ts'

/** Sends bytes of files to readers, who take turns, and only as long as each may read them. */
export interface Downloads {
  /** Opens a file to download; it must be disposed. */
  open(caller: Caller, id: FolderId, path: string): Promise<SentContent>
  /** Starts a ZIP file; it must be disposed. @throws AppError `too_many_files` */
  archive(caller: Caller, id: FolderId, paths: readonly string[], signal: AbortSignal): Promise<Archive>
  /** A bundle of small files. The first read opens the folder; it must be read to its end, or returned. */
  bundle(caller: Caller, id: FolderId, paths: readonly string[], signal: AbortSignal): Sending
  /** Lines of JSON with the SHA-256 of each file; otherwise as `bundle`. */
  checksums(caller: Caller, id: FolderId, paths: readonly string[], signal: AbortSignal): Sending
}

/** Bytes that are being sent, with the turns of their reader. Disposing ends the request that counts against the reader's limit. */
export interface Sending extends Disposable, Watched {
  readonly bytes: ByteStream
  readonly heavy: Pick<HeavyRequest, 'turn'>
}

export type ByteStream = AsyncGenerator<Uint8Array, void, undefined>

/** A ZIP file that is being sent. Disposing closes the folder. */
export interface Archive extends AsyncDisposable, Watched {
  /** Name of the ZIP file without `.zip`. */
  readonly name: string
  readonly bytes: ByteStream
  readonly heavy: Pick<HeavyRequest, 'turn'>
}

export interface DownloadsDeps {
  readonly open: FolderOpener
  readonly rights: Pick<FolderRights, 'watch'>
  readonly heavyWork: Pick<HeavyWork, 'enter'>
}

export function createDownloads({ open, rights, heavyWork }: DownloadsDeps): Downloads {
  const watchOf =
    (caller: Caller, id: FolderId): Watched['watch'] =>
    cut =>
      rights.watch(caller, id, 'ro', cut)

  function sending(
    heavy: HeavyRequest,
    { caller, id }: { caller: Caller; id: FolderId },
    bytesOf: (top: Directory) => ByteStream,
  ): Sending {
    const bytes = async function* (): ByteStream {
      await using folder = await open(caller, id, 'ro')
      yield* bytesOf(folder.top)
    }
    return { bytes: bytes(), heavy, watch: watchOf(caller, id), [Symbol.dispose]: () => heavy[Symbol.dispose]() }
  }

  return {
    async open(caller, id, path) {
      await using stack = new AsyncDisposableStack()
      const heavy = stack.use(heavyWork.enter(caller.userId))
      const folder = stack.use(await open(caller, id, 'ro'))
      const content = stack.use(await openContent(folder.top, path))
      const kept = stack.move()
      return { ...content, heavy, watch: watchOf(caller, id), [Symbol.asyncDispose]: () => kept.disposeAsync() }
    },

    async archive(caller, id, paths, signal) {
      requireFewParts(paths)
      await using stack = new AsyncDisposableStack()
      const heavy = stack.use(heavyWork.enter(caller.userId))
      const folder = stack.use(await open(caller, id, 'ro'))
      await requireFewFiles(folder.top, paths, signal)
      const kept = stack.move()
      const [path = '', ...more] = paths
      const name = path === '' || more.length > 0 ? folder.row.name : (path.split('/').at(-1) ?? folder.row.name)
      const bytes = zipOf(entriesOf(folder.top, { paths, name: folder.row.name, signal }), heavy)
      return {
        name,
        bytes,
        heavy,
        watch: watchOf(caller, id),
        async [Symbol.asyncDispose]() {
          await bytes.return()
          await kept.disposeAsync()
        },
      }
    },

    bundle(caller, id, paths, signal) {
      requireFewParts(paths)
      const heavy = heavyWork.enter(caller.userId)
      return sending(heavy, { caller, id }, top => bundleOf(top, paths, signal))
    },

    checksums(caller, id, paths, signal) {
      requireFewParts(paths)
      const heavy = heavyWork.enter(caller.userId)
      return sending(heavy, { caller, id }, top => checksumsOf(top, paths, { signal, heavy }))
    },
  }
}
