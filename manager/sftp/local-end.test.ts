import { expect, test, vi } from 'vitest'
import { SftpLocalEnd } from './local-end.ts'
import { type Operations } from './operations.ts'

test('a connection whose work cannot be put away ends, and the failure is told', async () => {
  const failure = new Error('the database does not answer')
  const operations = { [Symbol.asyncDispose]: () => Promise.reject(failure) } as Partial<Operations> as Operations
  const onUnexpected = vi.fn()
  const local = new SftpLocalEnd({ operations, isFlushed: () => true, onBroken: vi.fn(), onUnexpected })
  local.destroy()
  await local.closed
  await expect.poll(() => onUnexpected.mock.calls).toEqual([[failure]])
})
