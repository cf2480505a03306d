import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FileListQuery, type UserId } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type Entry } from '../storage/listing.ts'
import { createPages } from './listing.ts'

const LARGE = 10_001

/** A directory that is too large to sort, without its 10,001 files. Its listing closes when told to, like one on a slow share. */
function largeDirectory() {
  const closed = Promise.withResolvers<undefined>()
  const entries = Array.from({ length: LARGE }, (_, index): Entry => ({ name: `f${String(index)}`, kind: 'file' }))
  let isClosing = false
  const listing = {
    next: () => Promise.resolve(entries.splice(0, 512)),
    [Symbol.asyncDispose]: () => ((isClosing = true), closed.promise),
  }
  const state = { kind: 'file', size: 0, mode: 0o644, modifiedAt: new Date(0), links: 1, uid: 0, etag: 'e' }
  const directory = {
    list: () => Promise.resolve(listing),
    lstat: () => Promise.resolve(state),
  } as unknown as Directory
  return {
    open: () => Promise.resolve({ directory, [Symbol.asyncDispose]: () => Promise.resolve() }),
    close: () => closed.resolve(undefined),
    get isClosing() {
      return isClosing
    },
  }
}

const query = FileListQuery.parse({ limit: 10 })
const owner = { userId: 'user' as UserId, place: 'folder' }

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

test.each([
  ['that gave way to newer ones', 5, () => undefined],
  ['whose next page was not asked for', 1, () => vi.advanceTimersByTime(60_000)],
])('the end waits until a listing %s is closed', async (_what, count, pass) => {
  const pages = createPages()
  const [first, ...others] = Array.from({ length: count }, largeDirectory)
  if (!first) throw new Error('no directory')
  for (const one of [first, ...others]) expect((await pages.list(owner, query, one.open)).next).not.toBeNull()
  pass()
  expect(first.isClosing).toBe(true)
  others.forEach(one => one.close())
  let isOver = false
  const end = pages[Symbol.asyncDispose]().then(() => (isOver = true))
  await new Promise(setImmediate)
  expect(isOver).toBe(false)
  first.close()
  await end
})
