import {
  fileContentAddress,
  type FileConflict,
  type FileEntry,
  type FilesCopied,
  type FilePage,
  type FolderId,
  inRequests,
} from '#manager/contract'
import { type ListSort } from '../../ui/list-sort.ts'
import { createFetchBytes, type FetchBytesDeps } from '../../api/fetch-bytes.ts'

export type EntryKind = FileEntry['kind']

/** The part of a file or directory that lists show. */
export type Entry = Pick<FileEntry, 'name' | 'kind' | 'size' | 'modifiedAt'> & {
  /** File or directory that a link leads to, in the same folder. */
  readonly target?: Pick<NonNullable<FileEntry['target']>, 'path' | 'kind' | 'size'> | undefined
}

export type SortKey = 'name' | 'size' | 'modified'
export type EntrySort = ListSort<SortKey>

export type EntryPage = Pick<FilePage, 'next' | 'sorted'> & { readonly items: readonly Entry[] }

export interface MoveSpec {
  readonly paths: readonly string[]
  /** Directory. */
  readonly to: string
  /** New name, for one path. */
  readonly name?: string
  readonly onConflict: FileConflict
}

export interface FileContent {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Size of the whole file; `bytes` may be a part of it. */
  readonly size: number
  readonly etag: string
}

export interface FoundEntry extends Entry {
  /** Relative to the folder. */
  readonly path: string
}

/** A copy that is complete, or continues as a task. */
export type Copied = Pick<FilesCopied, 'task' | 'leftOut'>

/** File calls of one folder. All throw AppError. */
export interface FilesClient {
  list(query: {
    readonly path: string
    readonly sort: EntrySort
    readonly after: string | null
    readonly limit: number
    readonly signal: AbortSignal
  }): Promise<EntryPage>
  /** @param parents also makes missing directories on the way, and accepts one that exists */
  createDirectory(path: string, parents?: boolean): Promise<void>
  move(spec: MoveSpec): Promise<void>
  copy(spec: MoveSpec): Promise<Copied>
  /** Copies or moves from another folder into this one. */
  bring(from: FolderId, mode: 'copy' | 'move', spec: MoveSpec): Promise<Copied>
  /** Removes entries; the space is freed in the background. */
  remove(paths: readonly string[]): Promise<void>
  /** Reads the first `most` bytes. */
  read(path: string, most: number, signal: AbortSignal): Promise<FileContent>
  /** Writes a small text file. @param known etag of the version to replace; null: the file must not exist. @returns the new etag */
  write(path: string, text: string, known: string | null): Promise<string>
  search(query: {
    readonly path: string
    readonly text: string
    readonly signal: AbortSignal
  }): Promise<{ readonly items: readonly FoundEntry[]; readonly complete: boolean }>
  /** @returns address at which the browser downloads a file, or a ZIP file of several files or a directory */
  downloadAddress(paths: readonly string[]): Promise<string>
}

export interface FilesClientDeps extends FetchBytesDeps {
  readonly folderId: FolderId
}

export function createFilesClient({ folderId, ...deps }: FilesClientDeps): FilesClient {
  const { api } = deps
  const params = { id: folderId }
  const fetchBytes = createFetchBytes(deps)

  return {
    list: ({ path, sort, after, limit, signal }) =>
      api.listFiles({
        params,
        query: {
          path,
          sort: sort.key,
          order: sort.descending ? 'desc' : 'asc',
          limit,
          after: after ?? undefined,
        },
        signal,
      }),
    createDirectory: async (path, parents = false) =>
      void (await api.makeDirectory({ params, body: { path, parents } })),
    move: async ({ paths, ...spec }) => void (await api.moveFiles({ params, body: { paths: [...paths], ...spec } })),
    copy: ({ paths, ...spec }) => api.copyFiles({ params, body: { paths: [...paths], ...spec } }),
    bring: (from, mode, { paths, ...spec }) =>
      api.importFiles({ params, body: { from, mode, paths: [...paths], ...spec } }),
    async remove(paths) {
      for (const some of inRequests(paths)) await api.deleteFiles({ params, body: { paths: [...some] } })
    },
    async read(path, most, signal) {
      const response = await fetchBytes(fileContentAddress(folderId, path), {
        headers: { range: `bytes=0-${most - 1}` },
        signal,
      })
      const etag = response.headers.get('etag') ?? ''
      if (response.status === 416) return { bytes: new Uint8Array(), size: 0, etag }
      const bytes = await response.bytes()
      const whole = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]
      return { bytes, size: whole === undefined ? bytes.length : Number(whole), etag }
    },
    async write(path, text, known) {
      const condition = known === null ? { 'if-none-match': '*' } : { 'if-match': known }
      const response = await fetchBytes(fileContentAddress(folderId, path), {
        method: 'PUT',
        body: new TextEncoder().encode(text),
        headers: { 'content-type': 'application/octet-stream', ...condition },
      })
      const { etag } = (await response.json()) as FileEntry
      return etag ?? ''
    },
    search: ({ path, text, signal }) => api.searchFiles({ params, query: { path, text }, signal }),
    downloadAddress: async paths => (await api.createDownload({ params, body: { paths: [...paths] } })).url,
  }
}
