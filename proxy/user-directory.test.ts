import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openUserDirectory, serverNameOf } from './user-directory.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-test-users-'))
})
afterEach(() => rm(dataDir, { recursive: true }))

const USER = '01900000-0000-7000-8000-000000000001'
const open = (managerUrl: string, userId = USER) =>
  openUserDirectory(dataDir, { userId, server: serverNameOf(managerUrl) })

test('a server that names the user of another one gets a directory of its own, also later', async () => {
  const first = await open('https://berth.example.org')
  expect(first).toBe(join(dataDir, 'proxy', USER))
  const hostile = await open('https://hostile.example.org')
  expect(hostile).not.toBe(first)
  expect((await stat(hostile)).mode & 0o777).toBe(0o700)
  expect([await open('https://hostile.example.org'), await open('https://berth.example.org/')]).toEqual([
    hostile,
    first,
  ])
  expect(await open('http://berth.example.org')).not.toBe(first)
})

test('a directory from before belongs to the server that is used first, and this computer has one name', async () => {
  await mkdir(join(dataDir, 'proxy', USER), { recursive: true })
  const all = await Promise.all(
    ['http://localhost:8400', 'http://127.0.0.1:8400', 'http://[::1]:8400'].map(url => open(url)),
  )
  expect(new Set(all)).toEqual(new Set([join(dataDir, 'proxy', USER)]))
  expect(await open('http://localhost:8401')).not.toBe(all[0])
})

test.each(['../../elsewhere', '', 'a/b', '..', 'x\n'])('%j is no id of a user', async id => {
  await expect(open('https://berth.example.org', id)).rejects.toMatchObject({ code: 'bad_request' })
})
