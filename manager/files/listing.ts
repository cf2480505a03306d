import { randomUUID } from 'node:crypto'
import { AppError, type FileEntry, type FileListQuery, type FilePage, type UserId } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type Entry, type Listing } from '../storage/listing.ts'
import { toEntry } from './places.ts'
import { statesOf } from './states.ts'

/** A directory with more entries is listed in the order of the file system. */
const MOST_SORTED = 10_000
/** Time that an unfinished listing of a large directory stays open for its next page. */
const KEPT_MS = 60_000
const MOST_KEPT_PER_USER = 4

/** Lists directories in pages. Disposing closes the listings that wait for their next page, and waits until they are closed. */
export interface Pages extends AsyncDisposable {
  /**
   * @param owner user who may read the directory now: a continued listing does not open it again
   * @param open opens the directory; the page closes it, now or after its last page
   */
  list(
    owner: { userId: UserId; place: string },
    query: FileListQuery,
    open: () => Promise<OpenDirectory>,
  ): Promise<FilePage>
}

/** A directory, and resources that must be closed with it. */
export interface OpenDirectory extends AsyncDisposable {
  readonly directory: Directory
}

interface Kept {
  readonly userId: UserId
  readonly place: string
  readonly opened: OpenDirectory
  readonly listing: Listing
  /** Entries that were read and are not on a page yet. */
  readonly rest: Entry[]
  /** Number of earlier entries. */
  readonly offset: number
  readonly timer?: NodeJS.Timeout
}

/**
 * Lists directories of any size with flat memory. Up to 10,000 entries are read and sorted for each page. The listing of a larger directory
 * stays open between two pages; if a page is requested too late, or from another manager, the entries before it are read again.
 */
export function createPages(): Pages {
  const kept = new Map<string, Kept>()
  /** Listings that are not needed any more but are not closed yet. */
  const closings = new Set<Promise<void>>()

  function closeLater(one: Kept): void {
    const closing = close(one).finally(() => closings.delete(closing))
    closings.add(closing)
  }

  async function close({ listing, opened, timer }: Kept): Promise<void> {
    clearTimeout(timer)
    await listing[Symbol.asyncDispose]()
    await opened[Symbol.asyncDispose]()
  }

  function keep(one: Kept): string {
    const id = randomUUID()
    const timer = setTimeout(() => {
      kept.delete(id)
      closeLater(one)
    }, KEPT_MS).unref()
    kept.set(id, { ...one, timer })
    const own = [...kept].filter(([, { userId }]) => userId === one.userId)
    for (const [oldest, old] of own.slice(0, Math.max(0, own.length - MOST_KEPT_PER_USER))) {
      kept.delete(oldest)
      closeLater(old)
    }
    return id
  }

  /** Reads one page of a directory that is too large to sort. */
  async function pageInOrder(one: Kept, { limit, names }: FileListQuery): Promise<FilePage> {
    const rest = [...one.rest]
    try {
      while (rest.length <= limit) {
        const batch = await one.listing.next()
        if (batch.length === 0) break
        rest.push(...batch.filter(matches(names)))
      }
      const items = await describe(one.opened.directory, rest.slice(0, limit))
      const offset = one.offset + limit
      const more = rest.slice(limit)
      if (more.length === 0) {
        await close(one)
        return { items, next: null, sorted: false, total: null }
      }
      const id = keep({ ...one, rest: more, offset })
      return { items, next: encode({ offset, id }), sorted: false, total: null }
    } catch (error) {
      await close(one)
      throw error
    }
  }

  /** Continues a listing that was closed: reads it again up to the page. */
  async function continueInOrder(
    one: Omit<Kept, 'rest' | 'offset' | 'timer'>,
    offset: number,
    query: FileListQuery,
  ): Promise<FilePage> {
    const rest: Entry[] = []
    for (let skip = offset; rest.length === 0;) {
      const batch = await one.listing.next()
      if (batch.length === 0) break
      const found = batch.filter(matches(query.names))
      rest.push(...found.slice(skip))
      skip = Math.max(0, skip - found.length)
    }
    return pageInOrder({ ...one, rest, offset }, query)
  }

  return {
    async list({ userId, place }, query, open) {
      const after = decode(query.after)
      if (after?.id !== undefined) {
        const one = kept.get(after.id)
        if (one?.userId === userId && one.place === place && one.offset === after.offset) {
          kept.delete(after.id)
          clearTimeout(one.timer)
          return pageInOrder(one, query)
        }
      }
      const opened = await open()
      let listing: Listing | undefined
      try {
        listing = await opened.directory.list()
        if (after?.id !== undefined)
          return await continueInOrder({ userId, place, opened, listing }, after.offset, query)
        const read: Entry[] = []
        let isWhole = false
        while (read.length <= MOST_SORTED && !isWhole) {
          const batch = await listing.next()
          isWhole = batch.length === 0
          read.push(...batch.filter(matches(query.names)))
        }
        if (!isWhole) return await pageInOrder({ userId, place, opened, listing, rest: read, offset: 0 }, query)
        const page = await pageSorted(opened.directory, read, query, after)
        await listing[Symbol.asyncDispose]()
        await opened[Symbol.asyncDispose]()
        return page
      } catch (error) {
        await listing?.[Symbol.asyncDispose]()
        await opened[Symbol.asyncDispose]()
        throw error
      }
    },
    async [Symbol.asyncDispose]() {
      const all = [...kept.values()]
      kept.clear()
      await Promise.all([...all.map(close), ...closings])
    },
  }
}

function matches(names: string | undefined): (entry: Entry) => boolean {
  if (names === undefined || names === '') return () => true
  const text = names.toLowerCase()
  return ({ name }) => name.toLowerCase().includes(text)
}

/** Position after which the next page begins. */
interface Position {
  /** Number of entries before the page. */
  readonly offset: number
  /** The open listing of a directory that is not sorted. */
  readonly id?: string
  /** The last entry of the page, in a sorted directory. */
  readonly key?: SortKey
}
/** Directories first, then by the value, then by name. */
type SortKey = readonly [number, number | string, string]

const encode = (position: Position) => Buffer.from(JSON.stringify(position)).toString('base64url')

/** @throws AppError `bad_request` */
function decode(after: string | undefined): Position | undefined {
  if (after === undefined) return undefined
  const found = parse(Buffer.from(after, 'base64url').toString())
  if (isPosition(found)) return found
  throw new AppError('bad_request', { why: 'after: must be the `next` of a page.' })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isPosition(value: unknown): value is Position {
  if (typeof value !== 'object' || value === null) return false
  const { offset, id, key } = value as Record<string, unknown>
  const isKey = Array.isArray(key) && key.length === 3 && typeof key[0] === 'number' && typeof key[2] === 'string'
  return (
    Number.isSafeInteger(offset) &&
    Number(offset) >= 0 &&
    (id === undefined || typeof id === 'string') &&
    (key === undefined || isKey) &&
    (id !== undefined || isKey)
  )
}

async function pageSorted(
  directory: Directory,
  entries: readonly Entry[],
  { sort, order, limit }: FileListQuery,
  after: Position | undefined,
): Promise<FilePage> {
  const sign = order === 'asc' ? 1 : -1
  const byName = sort === 'name'
  // Sizes and times are needed of all entries; for names, those of the page suffice.
  const described = byName ? undefined : await describe(directory, entries)
  const keyed: { key: SortKey; entry: Entry; shown?: FileEntry }[] = described
    ? described.map(shown => ({ key: keyOf(shown, sort), entry: shown, shown }))
    : entries.map(entry => ({ key: keyOf(entry, 'name'), entry }))
  const sorted = keyed.sort((a, b) => compare(a.key, b.key, sign))
  const { key } = after ?? {}
  const rest = key ? sorted.filter(one => compare(one.key, key, sign) > 0) : sorted
  const page = rest.slice(0, limit)
  const items = await (described
    ? page.flatMap(({ shown }) => shown ?? [])
    : describe(
        directory,
        page.map(({ entry }) => entry),
      ))
  const last = page.at(-1)
  const next = last && rest.length > page.length ? encode({ offset: 0, key: last.key }) : null
  return { items, next, sorted: true, total: sorted.length }
}

function keyOf(one: Entry | FileEntry, sort: FileListQuery['sort']): SortKey {
  const first = one.kind === 'directory' ? 0 : 1
  if (sort === 'size' && 'size' in one) return [first, one.size, one.name]
  if (sort === 'modified' && 'modifiedAt' in one) return [first, one.modifiedAt, one.name]
  return [first, one.name.toLowerCase(), one.name]
}

/** Directories stay first in both orders. */
function compare([aKind, aValue, aName]: SortKey, [bKind, bValue, bName]: SortKey, sign: number): number {
  if (aKind !== bKind) return aKind - bKind
  if (aValue !== bValue) return (aValue < bValue ? -1 : 1) * sign
  return aName === bName ? 0 : (aName < bName ? -1 : 1) * sign
}

/** State of each entry; entries that were deleted meanwhile are left out. */
async function describe(directory: Directory, entries: readonly Entry[]): Promise<FileEntry[]> {
  const names = entries.map(({ name }) => name)
  const states = await statesOf(directory, names)
  return names.flatMap((name, index) => {
    const state = states[index]
    return state ? [toEntry(name, state)] : []
  })
}
