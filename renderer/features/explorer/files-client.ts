import {
  AppError,
  callRoute,
  fromProblem,
  isAppError,
  isProblem,
  parseJson,
  type CalledRoute,
  type FolderId,
  type RouteCall,
} from '#manager/contract'
import { MOST_PATHS } from './conflicts.ts'
import { fetchWithSecret, type OriginSecret } from '../../api/origin-secret.ts'

export type EntryKind = 'file' | 'directory' | 'link' | 'other'

/** A file or directory in a list. */
export interface Entry {
  readonly name: string
  readonly kind: EntryKind
  readonly size: number
  readonly modifiedAt: string
  readonly etag?: string
}

export type SortKey = 'name' | 'size' | 'modified'
export interface EntrySort {
  readonly key: SortKey
  readonly descending: boolean
}

export interface EntryPage {
  readonly items: readonly Entry[]
  /** Cursor of the next page; null at the end. */
  readonly next: string | null
  /** False for directories that are too large to sort: they come in the order of the file system. */
  readonly sorted: boolean
}

export type OnConflict = 'fail' | 'replace' | 'rename'

export interface MoveSpec {
  readonly paths: readonly string[]
  /** Directory. */
  readonly to: string
  /** New name, for one path. */
  readonly name?: string
  readonly onConflict: OnConflict
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

/** File calls of one folder. All throw AppError. */
export interface FilesClient {
  list(query: {
    readonly path: string
    readonly sort: EntrySort
    readonly after: string | null
    readonly limit: number
    readonly signal?: AbortSignal
  }): Promise<EntryPage>
  entry(path: string): Promise<Entry>
  /** @param parents also makes missing directories on the way, and accepts one that exists */
  createDirectory(path: string, parents?: boolean): Promise<void>
  /** @returns the task that continues, if it takes longer */
  move(spec: MoveSpec): Promise<string | null>
  copy(spec: MoveSpec): Promise<string | null>
  /** Their space is freed in the background. */
  remove(paths: readonly string[]): Promise<void>
  /** Reads the first `most` bytes. */
  read(path: string, most: number, signal?: AbortSignal): Promise<FileContent>
  /** Writes a small text file. @param known etag of the version to replace; null: the file must not exist. @returns the new etag */
  write(path: string, text: string, known: string | null): Promise<string>
  search(query: {
    readonly path: string
    readonly text: string
    readonly signal: AbortSignal
  }): Promise<{ readonly items: readonly FoundEntry[]; readonly complete: boolean }>
  /** The bytes of a file, or a ZIP file of several files or a directory. @param isFile one path that is a file */
  download(paths: readonly string[], isFile: boolean): Promise<Response>
}

export interface FilesClientDeps {
  readonly folderId: FolderId
  readonly secret: Pick<OriginSecret, 'get'>
  /** Called on `not_signed_in`: renews the sign-in, or throws and shows that it ended. */
  readonly renew: () => Promise<unknown>
  readonly fetch?: typeof fetch
}

const BASE = '/api/v1/folders/:id'
const ROUTES = {
  list: { method: 'GET', path: `${BASE}/entries` },
  entry: { method: 'GET', path: `${BASE}/entry` },
  createDirectory: { method: 'POST', path: `${BASE}/directories` },
  move: { method: 'POST', path: `${BASE}/moves` },
  copy: { method: 'POST', path: `${BASE}/copies` },
  remove: { method: 'POST', path: `${BASE}/deletions` },
  search: { method: 'GET', path: `${BASE}/search` },
} as const satisfies Record<string, CalledRoute>

export function createFilesClient(deps: FilesClientDeps): FilesClient {
  const { folderId, secret, renew } = deps
  const send = fetchWithSecret(
    deps.fetch ?? ((input, init) => fetch(input, { ...init, credentials: 'same-origin', cache: 'no-store' })),
    secret,
  )
  const clientDeps = {
    baseUrl: '',
    fetch: (url: string, init: object) => send(url, init),
    wait: (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms)),
  }

  async function signedIn<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      if (!isAppError(error) || error.code !== 'not_signed_in') throw error
      await renew()
      return await act()
    }
  }
  const call = (name: keyof typeof ROUTES, input: RouteCall): Promise<unknown> =>
    signedIn(() => callRoute(clientDeps, ROUTES[name], { ...input, params: { id: folderId } }))
  const taskOf = (reply: unknown) => (reply as { task?: { id: string } } | undefined)?.task?.id ?? null

  const base = `/api/v1/folders/${encodeURIComponent(folderId)}`
  const sendContent = (path: string, init: RequestInit) =>
    sendTo(`${base}/content?path=${encodeURIComponent(path)}`, init)

  async function sendTo(url: string, init: RequestInit): Promise<Response> {
    return await signedIn(async () => {
      let response: Response
      try {
        response = await send(url, init)
      } catch (error) {
        if (init.signal?.aborted) throw error
        throw new AppError('unavailable', { why: 'The manager does not answer.' }, { cause: error })
      }
      // 416: the file is empty, so no range of it exists.
      if (!response.ok && response.status !== 416) throw await failureOf(response)
      return response
    })
  }

  return {
    list: async ({ path, sort, after, limit, signal }) =>
      (await call('list', {
        query: {
          path,
          sort: sort.key,
          order: sort.descending ? 'desc' : 'asc',
          limit,
          after: after ?? undefined,
        },
        ...(signal ? { signal } : {}),
      })) as EntryPage,
    entry: async path => (await call('entry', { query: { path } })) as Entry,
    createDirectory: async (path, parents = false) =>
      void (await call('createDirectory', { body: { path, ...(parents ? { parents } : {}) } })),
    move: async spec => taskOf(await call('move', { body: spec })),
    copy: async spec => taskOf(await call('copy', { body: spec })),
    async remove(paths) {
      for (let start = 0; start < paths.length; start += MOST_PATHS)
        await call('remove', { body: { paths: paths.slice(start, start + MOST_PATHS) } })
    },
    async read(path, most, signal) {
      const response = await sendContent(path, {
        headers: { range: `bytes=0-${most - 1}` },
        ...(signal ? { signal } : {}),
      })
      const etag = response.headers.get('etag') ?? ''
      if (response.status === 416) return { bytes: new Uint8Array(), size: 0, etag }
      const bytes = await response.bytes()
      const whole = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]
      return { bytes, size: whole === undefined ? bytes.length : Number(whole), etag }
    },
    async write(path, text, known) {
      const condition = known === null ? { 'if-none-match': '*' } : { 'if-match': known }
      const response = await sendContent(path, {
        method: 'PUT',
        body: new TextEncoder().encode(text),
        headers: { 'content-type': 'application/octet-stream', ...condition },
      })
      const { etag } = (await response.json()) as Partial<Entry>
      return etag ?? ''
    },
    async search({ path, text, signal }) {
      const reply = (await call('search', { query: { path, text }, signal })) as {
        items: FoundEntry[]
        next?: string | null
        complete?: boolean
      }
      return { items: reply.items, complete: reply.complete ?? !reply.next }
    },
    download: (paths, isFile) => {
      const query = paths.map(path => `path=${encodeURIComponent(path)}`).join('&')
      return sendTo(isFile ? `${base}/content?${query}&download=1` : `${base}/archive?${query}`, {})
    },
  }
}

async function failureOf(response: Response): Promise<AppError> {
  const problem = parseJson(await response.text())
  if (isProblem(problem)) return fromProblem(problem)
  return new AppError(response.status >= 500 ? 'unavailable' : 'internal', { why: `HTTP ${response.status}` })
}
