// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'

beforeEach(() => sessionStorage.clear())
/** The page after a reload. */
async function loaded() {
  vi.resetModules()
  return await import('./error-log.ts')
}

test('a reload keeps the errors; a sign-out forgets them', async () => {
  const page = await loaded()
  page.logError(new AppError('unavailable'))
  page.logError(new TypeError('x is undefined'))
  const next = await loaded()
  expect(next.errorLog.value).toEqual(page.errorLog.value)
  next.clearErrors()
  expect((await loaded()).errorLog.value).toEqual([])
})

test('thousands of errors are kept, the newest ones, and storage that is full loses none of this page', async () => {
  const page = await loaded()
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError')
  })
  for (let index = 0; index < 2_100; index++) page.logError(`error ${index}`)
  vi.restoreAllMocks()
  expect(page.errorLog.value).toHaveLength(2_000)
  expect(page.errorLog.value[0]?.text).toBe('error 2099')
})

test.each(['{}', '[1]', '[["now","x"]]', 'x'])('the stored text %s is no list of errors', async text => {
  sessionStorage.setItem('berth.errors', text)
  expect((await loaded()).errorLog.value).toEqual([])
})
