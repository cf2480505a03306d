import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { loadPagesWhenIdle } from './load-pages.ts'

const load = vi.fn<() => Promise<object>>(() => Promise.resolve({}))
const router = createRouter({
  history: createMemoryHistory(),
  routes: [{ path: '/page', component: load }],
})

beforeEach(() => {
  vi.stubGlobal('requestIdleCallback', (callback: () => void) => {
    callback()
    return 1
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
  load.mockClear()
})

test('pages that nobody opened yet are loaded while the browser is idle', () => {
  vi.stubGlobal('navigator', { connection: { saveData: false } })
  loadPagesWhenIdle(router, ['/page'])
  expect(load).toHaveBeenCalledOnce()
})

test('a browser that tells nothing about data loads them as well', () => {
  vi.stubGlobal('navigator', {})
  loadPagesWhenIdle(router, ['/page'])
  expect(load).toHaveBeenCalledOnce()
})

test('a browser that saves data loads none of them', () => {
  vi.stubGlobal('navigator', { connection: { saveData: true } })
  loadPagesWhenIdle(router, ['/page'])
  expect(load).not.toHaveBeenCalled()
})
