import { expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { currentWork } from '../store/on-behalf.ts'
import { createOperations } from './operations.ts'

const userId = UserId.parse('00000000-0000-7000-8000-000000000000')

test('each operation of a connection is on behalf of its user, and so is its end', async () => {
  const works: unknown[] = []
  const note = () => void works.push(currentWork())
  const tree = {
    list: () => Promise.resolve(new Map()).finally(note),
    [Symbol.asyncDispose]: () => Promise.resolve().finally(note),
  }
  const unused = {} as never
  const operations = createOperations({ userId, tree: tree as never, hints: unused, quotas: unused })
  for (const id of [1, 2]) await operations.answer({ id, kind: 'opendir', path: Buffer.from('/') })
  await operations[Symbol.asyncDispose]()
  expect(works).toEqual(Array.from({ length: 3 }, () => ({ who: userId, connections: 0 })))
  // Each may have connections of its own.
  expect(new Set(works).size).toBe(3)
})
