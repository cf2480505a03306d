import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFrameTask } from './frame-task.ts'

const FRAME_MS = 16
let isHidden = false

/** Frames of a page: none while it is hidden. */
beforeEach(() => {
  isHidden = false
  vi.useFakeTimers()
  vi.stubGlobal('requestAnimationFrame', (run: () => void) => setTimeout(() => isHidden || run(), FRAME_MS))
  vi.stubGlobal('cancelAnimationFrame', clearTimeout)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('many requests before a frame run the task once, and one after it once more', () => {
  const task = vi.fn()
  const frame = createFrameTask(task)
  frame.soon()
  frame.soon()
  expect(task).not.toHaveBeenCalled()
  vi.advanceTimersByTime(FRAME_MS)
  expect(task).toHaveBeenCalledTimes(1)
  frame.soon()
  frame.now()
  frame.now()
  expect(task).toHaveBeenCalledTimes(2)
  vi.advanceTimersByTime(10_000)
  expect(task).toHaveBeenCalledTimes(2)
})

test('a page that is hidden before its frame runs the task all the same, and the next one too', () => {
  const task = vi.fn()
  const frame = createFrameTask(task)
  frame.soon()
  isHidden = true
  vi.advanceTimersByTime(1_000)
  expect(task).toHaveBeenCalledTimes(1)
  frame.soon()
  vi.advanceTimersByTime(1_000)
  expect(task).toHaveBeenCalledTimes(2)
})
