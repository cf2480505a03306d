import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { unlessFull } from '../unless-full.ts'
import { createOwnDisks } from './own-disks.ts'

const run = promisify(execFile)
const refused = (path: string, code: string) => unlessFull(Object.assign(new Error(code), { code }), path)

let root: string
let directory: string
let scratchDirectory: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-test-own-disks-'))
  directory = join(root, 'agent')
  scratchDirectory = join(root, 'scratch')
  await Promise.all([directory, scratchDirectory].map(path => mkdir(path)))
})
afterEach(() => rm(root, { recursive: true, force: true }))

function theDisks(freeSpaceFloorBytes = 1) {
  const it = { changes: 0 }
  const disks = createOwnDisks({ directory, scratchDirectory, freeSpaceFloorBytes, onChange: () => it.changes++ })
  return { it, disks }
}

test.each(['ENOSPC', 'EDQUOT'])('a home that is full (%s) is no fault of a host whose disks take files', async code => {
  const { it, disks } = theDisks()
  const error = refused(join(scratchDirectory, 'home'), code)
  expect(await disks.told(error)).toBe(error)
  expect([disks.problem, it.changes]).toEqual([null, 0])
  expect([await readdir(directory), await readdir(scratchDirectory)]).toEqual([[], []])
})

test('a start that met a full disk is a fault of the host while less is free than new sessions need', async () => {
  const { it, disks } = theDisks(2 ** 60)
  const errors = ['ENOSPC', 'ENOSPC'].map(code => disks.told(refused(scratchDirectory, code)))
  for (const error of await Promise.all(errors))
    expect(error).toMatchObject({ code: 'disk_full', detail: because('host_disk_short') })
  expect(disks.problem).toMatchObject({ cause: 'agent_disk_short', values: { path: scratchDirectory } })
  expect(it.changes).toBe(1)
})

test('other failures are not looked at', async () => {
  const { disks } = theDisks(2 ** 60)
  const error = new AppError('files_gone', because('session_files_deleted'))
  expect(await disks.told(error)).toBe(error)
  expect(disks.problem).toBeNull()
})

test('a directory that cannot be written for another cause proves nothing', async () => {
  const { disks } = theDisks()
  await mkdir(join(directory, '.write-test'))
  const error = refused(directory, 'ENOSPC')
  expect(await disks.told(error)).toBe(error)
  expect(disks.problem).toBeNull()
})

describe.skipIf(process.getuid?.() !== 0)('disks of their own', () => {
  test.each([
    ['homes', 'size=32m', 'agent_disk_short'],
    ['control files', 'size=32m', 'agent_disk_short'],
    // Too few inodes for a floor: only the written file shows it.
    ['homes', 'nr_inodes=2', 'agent_disk_refuses'],
    ['control files', 'nr_inodes=2', 'agent_disk_refuses'],
  ] as const)('a full disk of the %s (%s) is a fault of the host until it has room', async (of, options, cause) => {
    const place = of === 'homes' ? scratchDirectory : directory
    await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', place])
    try {
      const { disks, it } = theDisks()
      const filler = join(place, 'filler')
      await writeFile(filler, Buffer.alloc(options.startsWith('size') ? 40 * 2 ** 20 : 0)).catch(() => undefined)
      const error = await writeFile(join(place, 'more'), Buffer.alloc(2 ** 20)).then(
        () => expect.unreachable(),
        (full: unknown) => unlessFull(full, place),
      )
      expect(await disks.told(error)).toMatchObject({ code: 'disk_full', detail: because('host_disk_short') })
      expect(disks.problem).toMatchObject({ cause, values: { path: place } })
      await disks.check()
      expect(disks.problem).not.toBeNull()
      await rm(filler)
      await rm(join(place, 'more'), { force: true })
      await disks.check()
      expect([disks.problem, it.changes]).toEqual([null, 2])
    } finally {
      await run('umount', [place])
    }
  })
})
