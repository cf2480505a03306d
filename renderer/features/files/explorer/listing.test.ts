import { describe, expect, test, vi } from 'vitest'
import { type Entry, type EntryPage } from '../../../data/files/files-client.ts'
import { createListing } from './listing.ts'

const entry = (name: string): Entry => ({ name, kind: 'file', size: 1, modifiedAt: '2026-01-01T00:00:00.000Z' })

/** A directory whose cursors are the last name of the page before. */
function directory(names: string[]) {
  const asked: (string | null)[] = []
  const fetchPage = (after: string | null, limit: number): Promise<EntryPage> => {
    asked.push(after)
    const all = names.filter(name => after === null || name > after)
    const items = all.slice(0, limit).map(entry)
    return Promise.resolve({ items, next: all.length > limit ? (items.at(-1)?.name ?? null) : null, sorted: true })
  }
  return { names, asked, fetchPage }
}
const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index).padStart(6, '0'))
const settled = () => new Promise(resolve => setTimeout(resolve, 0))

describe('the list of a directory', () => {
  test('the next page is loaded only near the end', async () => {
    const { fetchPage, asked } = directory(numbered(250))
    const listing = createListing(fetchPage, { page: 100 })
    await listing.refresh()
    expect(listing.state.value).toMatchObject({ status: 'ready', count: 100, complete: false })
    listing.show(0, 20)
    await settled()
    expect(asked).toHaveLength(1)
    listing.show(60, 80)
    await settled()
    listing.show(180, 200)
    await settled()
    expect(listing.state.value).toMatchObject({ count: 250, complete: true })
    expect(asked).toEqual([null, '000099', '000199'])
    expect([listing.nameAt(249), listing.indexOf('000150'), listing.nameAt(250)]).toEqual(['000249', 150, undefined])
  })

  test('all names are fetched without keeping their pages, unless there are too many', async () => {
    const { fetchPage, asked } = directory(numbered(2_500))
    const listing = createListing(fetchPage, { page: 100 })
    await listing.refresh()
    expect(await listing.allNames(2_500)).toEqual(numbered(2_500))
    expect(listing.state.value).toMatchObject({ count: 100, complete: false })
    asked.length = 0
    expect(await listing.allNames(1_500)).toBeUndefined()
    expect(asked).toEqual([null, '000999'])
  })

  test('a bounded number of pages is kept, and a dropped page is fetched again when it comes into view', async () => {
    const { fetchPage, asked } = directory(numbered(1000))
    const listing = createListing(fetchPage, { page: 10, kept: 5 })
    await listing.refresh()
    for (let row = 0; row < 1000; row += 5) {
      listing.show(row, row + 5)
      await settled()
    }
    expect(listing.state.value).toMatchObject({ count: 1000, complete: true })
    const held = Array.from({ length: 1000 }, (_, row) => listing.nameAt(row)).filter(name => name !== undefined)
    expect(held.length).toBeLessThanOrEqual(50)
    expect(listing.nameAt(100)).toBeUndefined()
    expect(listing.isGone('nowhere')).toBe(false)
    asked.length = 0
    listing.show(100, 105)
    await settled()
    expect(asked).toEqual(['000099'])
    expect(listing.nameAt(100)).toBe('000100')
  })

  test('a refresh shows new and removed files, and keeps the old entries until the answer arrives', async () => {
    const files = directory(['a', 'b', 'c'])
    const listing = createListing(files.fetchPage)
    await listing.refresh()
    files.names.splice(1, 1, 'bb')
    const refreshing = listing.refresh()
    expect(listing.nameAt(1)).toBe('b')
    await refreshing
    expect(listing.nameAt(1)).toBe('bb')
    expect([listing.isGone('b'), listing.isGone('a')]).toEqual([true, false])
  })

  test('a failed refresh keeps the entries; a failed first load is an error', async () => {
    const files = directory(['a'])
    const fetchPage = vi.fn(files.fetchPage)
    const listing = createListing(fetchPage)
    await listing.refresh()
    fetchPage.mockRejectedValueOnce(new Error('away'))
    await listing.refresh()
    expect(listing.state.value).toMatchObject({ status: 'ready', count: 1, error: new Error('away') })
    const other = createListing(() => Promise.reject(new Error('away')))
    await other.refresh()
    expect(other.state.value).toMatchObject({ status: 'failed' })
  })

  test('an answer that a newer refresh overtook changes nothing', async () => {
    const answers: ((page: EntryPage) => void)[] = []
    const listing = createListing(() => new Promise<EntryPage>(resolve => answers.push(resolve)))
    const first = listing.refresh()
    const second = listing.refresh()
    answers[1]?.({ items: [entry('new')], next: null, sorted: true })
    await second
    answers[0]?.({ items: [entry('old')], next: null, sorted: true })
    await first
    expect(listing.nameAt(0)).toBe('new')
  })
})
