import { beforeEach, expect, test, vi } from 'vitest'
import { AppError, type FolderId } from '#manager/contract'
import { createDragOut } from './drag-out.ts'
import { type Entry } from '../../../data/files/files-client.ts'

const FOLDER = '01900000-0000-7000-8000-000000000001' as FolderId
const anEntry = (size: number, change: Partial<Entry> = {}): Entry => ({
  name: 'a.bin',
  kind: 'file',
  size,
  modifiedAt: '2030-01-01T00:00:00Z',
  ...change,
})
const OUTSIDE = { dataTransfer: { dropEffect: 'none' } as DataTransfer, clientX: -5, clientY: 40 }
let calls: string[]
let told: string[]
let window: EventTarget

beforeEach(() => {
  calls = []
  told = []
  window = new EventTarget()
  Object.assign(globalThis, {
    addEventListener: window.addEventListener.bind(window),
    ...{ innerWidth: 800, innerHeight: 600 },
  })
})

function aDragOut({
  isDesktop = true,
  hasEnded = true,
  ended = () => Promise.resolve(hasEnded),
  fetched = () => Promise.resolve('id'),
} = {}) {
  const drag = {
    fetch: ({ paths }: { paths: readonly string[] }) => (calls.push(`fetch ${paths.join()}`), fetched()),
    start: (id: string) => (calls.push(`start ${id}`), ended()),
  }
  const dragOut = createDragOut({
    host: { isDesktop, drag },
    tell: text => told.push(text),
    fail: error => told.push((error as AppError).code),
  })
  const begin = (...entries: (Entry | undefined)[]) => {
    let isPrevented = false
    const paths = entries.map((entry, at) => entry?.name ?? `unknown-${at}`)
    const isOut = dragOut.begin({ preventDefault: () => (isPrevented = true) }, { folderId: FOLDER, paths }, entries)
    expect(isPrevented).toBe(isOut)
    return isOut
  }
  return { ...dragOut, begin }
}
const settled = () => new Promise(done => setTimeout(done, 0))

test('a small file goes with a drag of the system at once; a drop on the page knows it until shortly after its end', async () => {
  const dragOut = aDragOut()
  expect(dragOut.begin(anEntry(1_000))).toBe(true)
  await settled()
  expect(calls).toEqual(['fetch a.bin', 'start id'])
  window.dispatchEvent(new Event('pointermove'))
  expect(dragOut.carried()).toEqual({ folderId: FOLDER, paths: ['a.bin'] })
  await expect.poll(() => dragOut.carried()).toBeUndefined()
})

test('a drag that begins right after another is known for as long as it lasts', async () => {
  vi.useFakeTimers()
  try {
    const ends = [Promise.resolve(true), new Promise<boolean>(() => undefined)]
    const dragOut = aDragOut({ ended: () => ends.shift()! })
    dragOut.begin(anEntry(1_000))
    await vi.advanceTimersByTimeAsync(300)
    dragOut.begin(anEntry(2_000, { name: 'b.bin' }))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(dragOut.carried()).toEqual({ folderId: FOLDER, paths: ['b.bin'] })
  } finally {
    vi.useRealTimers()
  }
})

test('where nobody tells that a drag is over, its drop is known until the pointer moves', async () => {
  const dragOut = aDragOut({ hasEnded: false })
  dragOut.begin(anEntry(1_000))
  await settled()
  expect(dragOut.carried()).toEqual({ folderId: FOLDER, paths: ['a.bin'] })
  window.dispatchEvent(new Event('pointermove'))
  expect(dragOut.carried()).toBeUndefined()
})

test('whoever lets go before a small file is there is told when it is, and no drag begins', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const dragOut = aDragOut({ fetched: () => promise })
  dragOut.begin(anEntry(1_000))
  window.dispatchEvent(new Event('pointerup'))
  resolve('late')
  await settled()
  expect(calls).toEqual(['fetch a.bin'])
  expect(told).toEqual([expect.stringContaining('a.bin is fetched')])
})

test('a large file is dragged within the page, is fetched when a drag has left the window, and goes with the next one', async () => {
  const dragOut = aDragOut()
  const large = anEntry(50 * 2 ** 20)
  expect(dragOut.begin(large)).toBe(false)
  await dragOut.end({ ...OUTSIDE, clientX: 20 })
  await dragOut.end({ ...OUTSIDE, dataTransfer: { dropEffect: 'copy' } as DataTransfer })
  expect(calls).toEqual([])
  await dragOut.end(OUTSIDE)
  expect(calls).toEqual(['fetch a.bin'])
  expect(told).toHaveLength(2)
  expect(dragOut.begin(large)).toBe(true)
  await settled()
  expect(calls.slice(1)).toEqual(['start id'])
  // A file that has changed since counts as another one.
  expect(dragOut.begin(anEntry(50 * 2 ** 20, { modifiedAt: '2030-01-02T00:00:00Z' }))).toBe(false)
})

test.each([
  ['a directory', [anEntry(0, { kind: 'directory' })]],
  ['more than 512 MiB', [anEntry(2 ** 30)]],
  ['an entry that is not loaded', [anEntry(1), undefined]],
])('%s does not leave the window, and the page says what to do', async (_, entries) => {
  const dragOut = aDragOut()
  expect(dragOut.begin(...entries)).toBe(false)
  await dragOut.end(OUTSIDE)
  expect(calls).toEqual([])
  expect(told).toEqual([expect.stringContaining('Download')])
})

test('a failure is told, and a browser is left alone', async () => {
  const failing = aDragOut({ fetched: () => Promise.reject(new AppError('unavailable')) })
  failing.begin(anEntry(1))
  await settled()
  expect(told).toEqual(['unavailable'])
  const browser = aDragOut({ isDesktop: false })
  expect(browser.begin(anEntry(1))).toBe(false)
  await browser.end(OUTSIDE)
  expect(calls).toEqual(['fetch a.bin'])
})
