import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { createFreeSpace } from './free-space.ts'

test('a disk below the floor is a problem in words for admins, told when it begins', async () => {
  let told = 0
  const space = createFreeSpace({ path: tmpdir(), floorBytes: 2 ** 60, onChange: () => told++ })
  expect(space.problem).toBeNull()
  await space.check()
  await space.check()
  expect(told).toBe(1)
  expect(space.problem).toMatchObject({ cause: 'agent_disk_short', values: { path: tmpdir() } })
  expect(space.problem?.why).toContain('GiB free')
})

test('a disk above the floor is none, and neither is a directory that cannot be read', async () => {
  for (const path of [tmpdir(), '/no/such/directory']) {
    const space = createFreeSpace({ path, floorBytes: 1, onChange: () => expect.unreachable() })
    await space.check()
    expect(space.problem).toBeNull()
  }
})
