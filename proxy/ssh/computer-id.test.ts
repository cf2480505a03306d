import { access, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { computerId } from './computer-id.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-computer-'))))
afterEach(() => rm(directory, { recursive: true }))

test("the id is derived from the system's own id and does not reveal it", async () => {
  const file = join(directory, 'machine-id')
  await writeFile(file, `${'a1'.repeat(16)}\n`)
  const id = await computerId(file, join(directory, 'never', 'made'))
  expect(id).toMatch(/^[0-9a-f]{16}$/)
  expect(id).not.toContain('a1a1')
  expect(await computerId(file, join(directory, 'elsewhere'))).toBe(id)
})

test('without an id of the system it is kept in a file, also if several processes begin at the same time', async () => {
  const none = join(directory, 'none')
  const state = join(directory, 'state', 'computer-id')
  const ids = await Promise.all(Array.from({ length: 20 }, () => computerId(none, state)))
  const one = await computerId(none, state)
  expect(new Set(ids)).toEqual(new Set([one]))
  expect(await readdir(join(directory, 'state'))).toEqual(['computer-id'])
  expect(await computerId(none, join(directory, 'of another computer'))).not.toBe(one)
})

test('another container has another id, although it may share home and machine id', async () => {
  const file = join(directory, 'machine-id')
  await writeFile(file, 'a1'.repeat(16))
  const inContainer = async (name: string) => {
    await symlink(`pid:[${name}]`, join(directory, name))
    return await computerId(file, undefined, join(directory, name))
  }
  expect(await inContainer('4026532001')).not.toBe(await inContainer('4026532002'))
})

test.runIf(process.platform === 'linux')('the id is not kept in a home, which other computers may share', async () => {
  const home = join(directory, 'home')
  vi.stubEnv('XDG_STATE_HOME', home).stubEnv('HOME', home)
  expect(await computerId(join(directory, 'none'))).toMatch(/^[0-9a-f]{16}$/)
  await expect(access(home)).rejects.toThrow()
  vi.unstubAllEnvs()
})

test('there is an id even if nothing can be kept', async () => {
  const file = join(directory, 'file')
  await writeFile(file, '')
  expect(await computerId(file, join(file, 'computer-id'))).toMatch(/^[0-9a-f]{16}$/)
})
