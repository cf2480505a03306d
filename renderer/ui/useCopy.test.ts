import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test, vi } from 'vitest'
import { useCopy } from './useCopy.ts'
import { useNotifications } from './useNotifications.ts'

beforeEach(() => setActivePinia(createPinia()))
const told = () => useNotifications().items.map(({ text }) => text)

test('text is copied without a message', async () => {
  const writeText = vi.fn(() => Promise.resolve())
  expect(await useCopy({ clipboard: { writeText } as never })('text')).toBe(true)
  expect(writeText).toHaveBeenCalledWith('text')
  expect(told()).toEqual([])
})

test('a page over plain http has no clipboard, and says so', async () => {
  expect(await useCopy({})('text')).toBe(false)
  expect(told()).toEqual([expect.stringContaining('only on https and localhost')])
})

test('a refusal of the browser is a message, not a failure', async () => {
  const clipboard = { writeText: () => Promise.reject(new DOMException('Document is not focused', 'NotAllowedError')) }
  expect(await useCopy({ clipboard: clipboard as never })('text')).toBe(false)
  expect(told()).toEqual([expect.stringContaining('did not allow copying')])
})
