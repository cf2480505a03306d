import { expect, test } from 'vitest'
import { countParts, firstForRequest, inRequests, MOST_PATH_PARTS, MOST_PATHS } from './file-paths.ts'

const deep = (parts: number, name = 'file') => 'a/'.repeat(parts - 1) + name

test('requests name all paths once, in order, each within both limits', () => {
  const paths = Array.from({ length: 2_500 }, (_, index) => deep((index % 3) * 100 + 1, `file-${index}`))
  const requests = [...inRequests(paths)]
  expect(requests.flat()).toEqual(paths)
  expect(requests.length).toBeGreaterThan(3)
  for (const request of requests) {
    expect(request.length).toBeLessThanOrEqual(MOST_PATHS)
    expect(request.reduce((sum, path) => sum + countParts(path), 0)).toBeLessThanOrEqual(MOST_PATH_PARTS)
  }
})

test('shallow paths are bounded by their number alone, and no path stops the rest', () => {
  expect(firstForRequest(Array.from({ length: 1_200 }, () => deep(50)))).toHaveLength(MOST_PATHS)
  expect(firstForRequest([deep(MOST_PATH_PARTS + 1), 'b'])).toHaveLength(1)
  expect([...inRequests([])]).toEqual([])
})
