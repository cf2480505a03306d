import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAppError } from '#manager/contract'
import { type Directory, openTop } from './beneath.ts'
import { createStorageCalls } from './calls.ts'
import { followingLinks, realPathOf } from './real-path.ts'

const calls = createStorageCalls({ threads: 16 })('local')
let path: string
let top: Directory
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'berth-test-links-'))
  top = await openTop(path, calls)
  await mkdir(join(path, 'hub/blobs'), { recursive: true })
  await mkdir(join(path, 'hub/snapshots/abc'), { recursive: true })
  await writeFile(join(path, 'hub/blobs/sha1'), 'weights')
})
afterEach(async () => {
  await top[Symbol.asyncDispose]()
  await rm(path, { recursive: true, force: true })
})

const links = (made: Record<string, string>) =>
  Promise.all(Object.entries(made).map(([name, target]) => symlink(target, join(path, name))))

test('links are followed to their real paths, through directories and other links', async () => {
  await links({
    'hub/snapshots/abc/model.bin': '../../blobs/sha1',
    current: 'hub/./snapshots//abc/',
    again: 'current/model.bin',
    whole: '.',
    up: 'hub/..',
  })
  const expected = {
    'hub/snapshots/abc/model.bin': 'hub/blobs/sha1',
    'current/model.bin': 'hub/blobs/sha1',
    again: 'hub/blobs/sha1',
    current: 'hub/snapshots/abc',
    'current/new': 'hub/snapshots/abc/new',
    whole: '',
    'up/whole/hub': 'hub',
    'hub/blobs/sha1': 'hub/blobs/sha1',
    '': '',
  }
  for (const [from, to] of Object.entries(expected)) expect([from, await realPathOf(top, from)]).toEqual([from, to])
  expect(await realPathOf(top, 'current/model.bin', 'keep')).toBe('hub/snapshots/abc/model.bin')
})

test('a link that leads out of the folder, an absolute one, a circle and a link to nothing are refused', async () => {
  await links({
    out: '../secret',
    'hub/out': '../..',
    'hub/back': `../../${path.split('/').at(-1) ?? ''}/hub`,
    absolute: join(path, 'hub/blobs/sha1'),
    a: 'b',
    b: 'a',
    gone: 'missing/file',
  })
  const why = (from: string) =>
    realPathOf(top, from).then(
      to => to,
      (error: unknown) => isAppError(error) && [error.code, error.detail.cause],
    )
  for (const from of ['out', 'out/x', 'hub/out', 'hub/back', 'absolute'])
    expect([from, await why(from)]).toEqual([from, ['file_kind_refused', 'link_leaves_folder']])
  expect(await why('a')).toEqual(['file_kind_refused', 'link_loops'])
  expect(await why('gone')).toEqual(['file_not_found', 'file_missing'])
  await expect(realPathOf(top, '../secret')).rejects.toMatchObject({ code: 'path_invalid' })
})

test('only a path with a link on it is walked for links', async () => {
  await links({ 'hub/link': 'blobs' })
  const seen: string[] = []
  const open = async (at: string) => {
    seen.push(at)
    await using directory = await top.walk(at)
    return (await directory.state()).kind
  }
  expect(await followingLinks(top, 'hub/blobs', open)).toBe('directory')
  expect(await followingLinks(top, 'hub/link', open)).toBe('directory')
  expect(seen).toEqual(['hub/blobs', 'hub/link', 'hub/blobs'])
  await expect(followingLinks(top, 'hub/blobs/sha1', open)).rejects.toMatchObject({ code: 'file_kind_refused' })
})
