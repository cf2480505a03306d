import { expect, test } from 'vitest'
import { createPasswordQueue } from './password-queue.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

/** Number of hashes started until the last of these attempts was finished; 'real' attempts have a hash of their own. */
async function startsUntilLast(attempts: readonly ('real' | 'made up')[]): Promise<number> {
  const running: (() => void)[] = []
  let starts = 0
  const work = () => {
    starts++
    return new Promise<void>(resolve => running.push(resolve))
  }
  const queue = createPasswordQueue(work)
  const seen = { isOver: false }
  for (const [at, kind] of attempts.entries()) {
    const over = kind === 'real' ? queue.run(['a'], work) : queue.pretend(['a'])
    if (at === attempts.length - 1) void over.then(() => (seen.isOver = true))
  }
  let startsAtEnd = starts
  while (!seen.isOver) {
    startsAtEnd = starts
    running.shift()?.()
    await turn()
  }
  return startsAtEnd
}

test.each([
  { ahead: [], starts: 1 },
  { ahead: ['real'], starts: 2 },
  { ahead: ['real', 'real'], starts: 3 },
  { ahead: ['real', 'real', 'real'], starts: 4 },
  { ahead: ['made up', 'made up', 'made up'], starts: 3 },
  { ahead: ['real', 'made up', 'made up', 'made up'], starts: 3 },
  { ahead: ['real', 'real', 'made up', 'real'], starts: 4 },
] as const)('behind $ahead an attempt waits as long whether its account exists or not', async ({ ahead, starts }) => {
  expect(await startsUntilLast([...ahead, 'real'])).toBe(await startsUntilLast([...ahead, 'made up']))
  expect(await startsUntilLast([...ahead, 'real'])).toBeGreaterThanOrEqual(starts)
})
