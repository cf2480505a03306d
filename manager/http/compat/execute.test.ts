import { expect, test } from 'vitest'
import { type ApiClient, type Session } from '#manager/contract'
import { createExecution, type ExecutionAnswer } from './execute.ts'

test('output waits for a client that does not read: it does not gather in the manager', async () => {
  let reads = 0
  const api = {
    runCommand: () => Promise.resolve({ id: 'c1' }),
    getCommand: () => Promise.resolve({ exitCode: 0, reason: 'exited' }),
    readCommandOutput: ({ query }: { query: { stream: string; offset: number } }) => {
      reads++
      const isOver = query.stream === 'stderr' || query.offset >= 50
      return Promise.resolve({ text: isOver ? '' : 'y', next: query.offset + 1, ended: isOver })
    },
  } as unknown as ApiClient
  const said: ExecutionAnswer[] = []
  const { promise: isRead, resolve: readOn } = Promise.withResolvers<undefined>()
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
  const execution = createExecution({
    api,
    session: { id: 's1' } as Session,
    signal: new AbortController().signal,
    async say(answer) {
      said.push(answer)
      await isRead
    },
    end: () => end(undefined),
  })
  execution.take(JSON.stringify({ mode: 'query', code: 'print()' }))
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  expect([said.length, reads]).toEqual([1, 2])
  readOn(undefined)
  await ended
  expect(said.map(({ status }) => status)).toEqual([...Array.from({ length: 50 }, () => 'continued'), 'finished'])
})
