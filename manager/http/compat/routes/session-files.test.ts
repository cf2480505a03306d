import { expect, onTestFinished, test, vi } from 'vitest'
import { type CompatContext } from '../route.ts'
import { SESSION_FILE_ROUTES, takeMemory } from './session-files.ts'

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

test('what a download has written in the session is removed, also when the client has left', async () => {
  const left = () => Promise.reject(new Error('aborted'))
  const session = { id: '0190a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b' }
  const remove = vi.fn().mockResolvedValue({ status: 'EXITED', exitCode: 0 })
  const context = {
    request: { query: { file: 'a.txt' }, body: undefined },
    params: { session: session.id },
    userId: 'u1',
    api: { getSession: () => Promise.resolve(session), runCommand: left },
    lasting: () => ({ runCommand: remove }),
  } as unknown as CompatContext
  const route = SESSION_FILE_ROUTES.find(({ path }) => path.endsWith('/download_single'))
  await expect(route?.handle(context)).rejects.toThrow('aborted')
  expect(remove).toHaveBeenCalledWith({
    params: session,
    body: expect.objectContaining({
      command: ['rm', '-f', '--', expect.stringMatching(/^\/tmp\/\.download-/)],
    }) as object,
  })
})
