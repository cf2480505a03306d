import { shallowRef, type ShallowRef } from 'vue'
import { type Entry, type EntryPage } from '../../../data/files/files-client.ts'
import { type Rows } from './selection.ts'

const PAGE = 500
/** The largest page of the API, for requests that show no rows. */
const NAMES_PAGE = 1_000
/** Number of pages kept around the visible rows: 30,000 entries. Others are fetched again when they come into view. */
const KEPT = 60

export interface ListingState {
  readonly status: 'loading' | 'ready' | 'failed'
  readonly error: unknown
  /** Known entries, including those of pages that were dropped. */
  readonly count: number
  /** False while more pages follow. */
  readonly complete: boolean
  readonly sorted: boolean
  /** Increases with every change of the entries. */
  readonly revision: number
}

interface HeldPage {
  readonly after: string | null
  readonly count: number
  /** Null if the page was dropped. */
  readonly items: readonly Entry[] | null
}

/**
 * The entries of one directory, page by page as one scrolls, with bounded memory. The cursor of every page is kept, so that a
 * dropped page can be fetched again on its own.
 */
export interface Listing extends Rows {
  readonly state: Readonly<ShallowRef<ListingState>>
  entryAt(index: number): Entry | undefined
  entryOf(name: string): Entry | undefined
  /** True if all entries are loaded and none has the name. */
  isGone(name: string): boolean
  /** Loads the pages of these rows, and near the end also the next page. */
  show(start: number, end: number): void
  /** Fetches the held pages again; the shown ones stay until then. With `quietly` they stay after a failure too, because nobody waits. */
  refresh(options?: { readonly quietly?: boolean }): Promise<void>
  /** Names of all entries, fetched anew. @returns undefined if there are more than `most` */
  allNames(most: number): Promise<readonly string[] | undefined>
  /** Drops pending requests. */
  stop(): void
}

export type FetchPage = (after: string | null, limit: number, signal: AbortSignal) => Promise<EntryPage>

export function createListing(fetchPage: FetchPage, { page = PAGE, kept = KEPT } = {}): Listing {
  const state = shallowRef<ListingState>({
    status: 'loading',
    error: null,
    count: 0,
    complete: false,
    sorted: true,
    revision: 0,
  })
  let pages: HeldPage[] = []
  let offsets: number[] = []
  let next: string | null = null
  let range: readonly [number, number] = [0, 0]
  let aborter = new AbortController()
  const ended = new AbortController()
  /** Cursors whose page is being fetched. */
  const pending = new Set<string | null>()

  function publish(change: Partial<ListingState>): void {
    offsets = []
    let count = 0
    for (const held of pages) {
      offsets.push(count)
      count += held.count
    }
    state.value = { ...state.value, ...change, count, revision: state.value.revision + 1 }
  }

  /** Index of the page of a row; -1 beyond the last. */
  function pageOf(row: number): number {
    let low = 0
    let high = pages.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const offset = offsets[middle] ?? 0
      if (row < offset) high = middle - 1
      else if (row >= offset + (pages[middle]?.count ?? 0)) low = middle + 1
      else return middle
    }
    return -1
  }

  /** Drops the pages that are farthest from the visible rows. */
  function trim(): void {
    const held = pages.flatMap(({ items }, index) => (items ? [index] : []))
    if (held.length <= kept) return
    const centre = Math.max(0, pageOf(range[0]))
    const far = held.toSorted((a, b) => Math.abs(b - centre) - Math.abs(a - centre)).slice(0, held.length - kept)
    for (const index of far) {
      const dropped = pages[index]
      if (dropped) pages[index] = { ...dropped, items: null }
    }
  }

  async function load(after: string | null, index: number): Promise<void> {
    if (pending.has(after)) return
    pending.add(after)
    const { signal } = aborter
    try {
      const reply = await fetchPage(after, page, signal)
      if (signal.aborted) return
      pages[index] = { after, count: reply.items.length, items: reply.items }
      if (index === pages.length - 1) next = reply.next
      trim()
      publish({ status: 'ready', error: null, complete: next === null, sorted: reply.sorted })
    } catch (error) {
      if (!signal.aborted) publish({ status: pages.length === 0 ? 'failed' : state.value.status, error })
    } finally {
      if (!signal.aborted) pending.delete(after)
    }
  }

  function show(start: number, end: number): void {
    range = [start, end]
    if (state.value.status !== 'ready') return
    const first = pageOf(start)
    const last = pageOf(Math.max(start, end - 1))
    for (let index = Math.max(0, first); index <= (last === -1 ? pages.length - 1 : last); index++) {
      const held = pages[index]
      if (held && !held.items) void load(held.after, index)
    }
    if (next !== null && end >= state.value.count - page / 2) void load(next, pages.length)
  }

  async function refresh({ quietly = false } = {}): Promise<void> {
    aborter.abort()
    aborter = new AbortController()
    const { signal } = aborter
    pending.clear()
    const wanted = pages.length === 0 ? 1 : pages.length
    // A long list is fetched again only around the visible rows.
    const isLong = wanted > 4
    const from = isLong ? Math.max(0, pageOf(range[0]) - 1) : 0
    const to = isLong ? Math.max(from, pageOf(Math.max(0, range[1] - 1)) + 1) : wanted - 1
    const fresh: HeldPage[] = pages.slice(0, from).map(held => ({ ...held, items: null }))
    let after = pages[from]?.after ?? null
    if (state.value.status === 'failed' && !quietly) publish({ status: 'loading', error: null })
    try {
      let sorted = true
      for (let index = from; index <= to; index++) {
        const reply = await fetchPage(after, page, signal)
        if (signal.aborted) return
        fresh.push({ after, count: reply.items.length, items: reply.items })
        sorted = reply.sorted
        after = reply.next
        if (after === null) break
      }
      pages = fresh
      next = after
      publish({ status: 'ready', error: null, complete: next === null, sorted })
      show(...range)
    } catch (error) {
      if (!signal.aborted) publish({ status: pages.length === 0 ? 'failed' : 'ready', error })
    }
  }

  // Both functions read the reactive state, so that values computed from them follow its changes.
  const entryAt = (index: number) => {
    const at = index < state.value.count ? pageOf(index) : -1
    return at === -1 ? undefined : pages[at]?.items?.[index - (offsets[at] ?? 0)]
  }
  const indexOf = (name: string) => {
    if (state.value.count === 0) return -1
    for (const [at, { items }] of pages.entries()) {
      const index = items?.findIndex(entry => entry.name === name) ?? -1
      if (index !== -1) return (offsets[at] ?? 0) + index
    }
    return -1
  }
  return {
    state,
    get count() {
      return state.value.count
    },
    nameAt: index => entryAt(index)?.name,
    indexOf,
    entryAt,
    entryOf: name => entryAt(indexOf(name)),
    isGone: name => state.value.complete && pages.every(({ items }) => items) && indexOf(name) === -1,
    show,
    refresh,
    allNames: most => allNames(fetchPage, most, ended.signal),
    stop() {
      aborter.abort()
      ended.abort()
    },
  }
}

/** @returns undefined if there are more than `most` */
async function allNames(
  fetchPage: FetchPage,
  most: number,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const names: string[] = []
  let after: string | null = null
  do {
    const reply: EntryPage = await fetchPage(after, NAMES_PAGE, signal)
    names.push(...reply.items.map(({ name }) => name))
    after = reply.next
  } while (after !== null && names.length <= most)
  return names.length > most ? undefined : names
}
