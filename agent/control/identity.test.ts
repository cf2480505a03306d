import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ManagerId } from '#manager/contract'
import { openIdentity } from './identity.ts'

test('connections that save at the same moment leave a complete file with the latest content', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  try {
    const identity = await openIdentity(directory)
    const managerId = ManagerId.parse(randomUUID())
    const known = (count: number) => ({
      managerId,
      url: 'http://127.0.0.1:1',
      urls: Array.from({ length: count }, (_, index) => `http://127.0.0.1:${index}`),
    })
    await Promise.all(Array.from({ length: 50 }, (_, index) => identity.remember(known((index * 7) % 50))))
    const again = await openIdentity(directory)
    expect(again.agentId).toBe(identity.agentId)
    expect(again.manager).toEqual(known((49 * 7) % 50))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
