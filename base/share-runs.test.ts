import { expect, test } from 'vitest'
import { shareRuns } from './share-runs.ts'

test('calls at once get the result of one run; a later call runs again, also after a failure', async () => {
  let runs = 0
  const ends: PromiseWithResolvers<number>[] = []
  const ask = shareRuns(() => {
    runs++
    const end = Promise.withResolvers<number>()
    ends.push(end)
    return end.promise
  })
  const together = [ask(), ask(), ask()]
  expect(runs).toBe(1)
  ends[0]?.reject(new Error('the disk hangs'))
  expect((await Promise.allSettled(together)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
  const next = ask()
  ends[1]?.resolve(7)
  expect(await next).toBe(7)
  expect(runs).toBe(2)
})
