import { expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { type CompatContext } from '../route.ts'
import { EVENT_ROUTES } from './events.ts'

test('events of a task end where its sender may not ask any more: the connection breaks', async () => {
  const task_id = '0190a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b'
  const getTask = vi
    .fn()
    .mockResolvedValueOnce({ status: 'running' })
    .mockRejectedValueOnce(new AppError('keypair_inactive'))
  const raw = { writeHead: vi.fn(), flushHeaders: vi.fn(), write: vi.fn(), end: vi.fn(), destroy: vi.fn() }
  const context = {
    request: { query: { task_id }, body: undefined },
    reply: { raw, getHeaders: () => ({}), hijack: vi.fn() },
    api: { getTask, listFolders: () => Promise.resolve({ items: [] }) },
    signal: new AbortController().signal,
  } as unknown as CompatContext
  const route = EVENT_ROUTES.find(({ path }) => path === '/events/background-task')
  await route?.handle(context).catch(() => undefined)
  expect(getTask).toHaveBeenCalledTimes(2)
  expect(raw.destroy).toHaveBeenCalledOnce()
})
