import type * as FileSystem from 'node:fs/promises'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { decideOnce } from './files.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-files-'))))
afterEach(() => rm(directory, { recursive: true }))

vi.mock('node:fs/promises', async original => ({
  ...(await original<typeof FileSystem>()),
  link: () => Promise.reject(Object.assign(new Error('operation not supported'), { code: 'EPERM' })),
}))

test('on a file system without hard links too, the first text stays', async () => {
  const file = join(directory, 'server')
  expect(await decideOnce(file, 'first')).toBe('first')
  expect(await decideOnce(file, 'second')).toBe('first')
  expect(await readdir(directory)).toEqual(['server'])
})
