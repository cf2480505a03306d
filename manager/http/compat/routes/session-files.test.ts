import { expect, onTestFinished, test } from 'vitest'
import { takeMemory } from './session-files.ts'

test('one person who sends slowly leaves room for the files of others', () => {
  const take = (userId: string) => {
    const turn = takeMemory(userId)
    onTestFinished(() => turn[Symbol.dispose]())
    return turn
  }
  const [first] = [take('u1'), take('u1')]
  const refused = expect.objectContaining({ code: 'rate_limited' }) as Error
  expect(() => take('u1')).toThrow(refused)
  for (const other of ['u2', 'u2', 'u3', 'u3', 'u4', 'u4']) take(other)
  expect(() => take('u5')).toThrow(refused)
  first[Symbol.dispose]()
  take('u5')
})
