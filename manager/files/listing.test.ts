import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { AppError, FileListQuery, type FilePage, type UserId } from '#manager/contract'
import { type Directory, openTop } from '../storage/beneath.ts'
import { createStorageCalls } from '../storage/calls.ts'
import { type Entry } from '../storage/listing.ts'
import { createPages } from './listing.ts'

const LARGE = 10_001
const STATE = { kind: 'file', size: 0, mode: 0o644, modifiedAt: new Date(0), links: 1, uid: 0, etag: 'e' }

/** A directory that is too large to sort, without its 10,001 files. Its listing closes when the test says so, like one on a slow share. */
function largeDirectory() {
  const closed = Promise.withResolvers<undefined>()
  const entries = Array.from({ length: LARGE }, (_, index): Entry => ({ name: `f${String(index)}`, kind: 'file' }))
  let isClosing = false
  const listing = {
    next: () => Promise.resolve(entries.splice(0, 512)),
    [Symbol.asyncDispose]: () => ((isClosing = true), closed.promise),
  }
  const directory = {
    list: () => Promise.resolve(listing),
    lstat: () => Promise.resolve(STATE),
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

test.each([
  ['that gave way to newer ones', 5, () => undefined],
  ['whose next page was not asked for', 1, () => vi.advanceTimersByTime(60_000)],
])('the end waits until a listing %s is closed', async (_what, count, pass) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  using _clock = { [Symbol.dispose]: () => vi.useRealTimers() }
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

test('1,000,000 entries are listed once each, with few in memory at a time, while some of them vanish', async () => {
  const TOTAL = 1_000_000
  const LIMIT = 1_000
  let read = 0
  let closed = 0
  const listing = {
    next: () => {
      const count = Math.min(512, TOTAL - read)
      return Promise.resolve(Array.from({ length: count }, (): Entry => ({ name: String(read++), kind: 'file' })))
    },
    [Symbol.asyncDispose]: () => Promise.resolve(void closed++),
  }
  const isGone = (name: string) => Number(name) % 1_000 === 0
  const gone = () => Promise.reject(new AppError('file_not_found'))
  // Creating a directory with so many files takes a minute: `npm run bench -- files` does it.
  const directory = {
    list: () => Promise.resolve(listing),
    lstat: gone,
    lstatMany: (names: readonly string[]) => Promise.resolve(names.map(name => (isGone(name) ? undefined : STATE))),
  } as unknown as Directory
  const open = () => Promise.resolve({ directory, [Symbol.asyncDispose]: () => Promise.resolve(void closed++) })
  await using pages = createPages()
  let [shown, last, most] = [0, -1, 0]
  for (let after: string | null = '', page = 1; after !== null; page++) {
    const query = FileListQuery.parse({ limit: LIMIT, ...(after === '' ? {} : { after }) })
    const { items, next }: FilePage = await pages.list(owner, query, open)
    for (const { name } of items) {
      if (Number(name) <= last || isGone(name)) throw new Error(`${name} was listed twice, or is gone`)
      last = Number(name)
    }
    shown += items.length
    // Up to 10,000 entries are read before the directory counts as large.
    if (page > 12) most = Math.max(most, read - page * LIMIT)
    after = next
  }
  expect(shown).toBe(TOTAL - TOTAL / 1_000)
  expect(most).toBeLessThan(LIMIT)
  expect(closed).toBe(2)
}, 120_000)

test('files that stay are listed once each while a session makes, renames and deletes others in the same directory', async () => {
  const TOTAL = LARGE
  const path = await mkdtemp(join(tmpdir(), 'berth-test-listing-'))
  const session = spawn(
    'python3',
    [
      '-c',
      `
import os, time
print('ready', flush=True)
n = 0
while True:
    n += 1
    open('other-%d' % n, 'w').close()
    os.rename('other-%d' % n, 'moved-%d' % n)
    if n > 50:
        os.unlink('moved-%d' % (n - 50))
    time.sleep(0.0002)
`,
    ],
    { cwd: path, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  try {
    await promisify(execFile)('sh', ['-c', `seq ${String(TOTAL)} | xargs touch`], { cwd: path })
    await once(session.stdout, 'data')
    const calls = createStorageCalls({ threads: 16 })('local')
    await using pages = createPages()
    const open = async () => {
      const directory = await openTop(path, calls)
      return { directory, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() }
    }
    const stayed: string[] = []
    for (let after: string | null = ''; after !== null;) {
      const query = FileListQuery.parse({ limit: 1_000, ...(after === '' ? {} : { after }) })
      const page: FilePage = await pages.list(owner, query, open)
      stayed.push(...page.items.map(({ name }) => name).filter(name => /^\d+$/.test(name)))
      after = page.next
    }
    expect(session.exitCode).toBeNull()
    expect(stayed).toHaveLength(TOTAL)
    expect(new Set(stayed).size).toBe(TOTAL)
  } finally {
    session.kill('SIGKILL')
    await once(session, 'exit')
    await rm(path, { recursive: true, force: true })
  }
})
