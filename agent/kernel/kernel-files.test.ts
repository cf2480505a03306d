import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmod,
  chown,
  copyFile,
  lchown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  stat,
  statfs,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createKernelFiles, type KernelFiles } from './kernel-files.ts'

const run = promisify(execFile)
const RETENTION_MS = 60_000

let directory: string
let files: KernelFiles
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-files-'))
  files = createKernelFiles({
    directory,
    scratchDirectory: join(directory, 'scratch'),
    freeSpaceFloorBytes: 0,
    scratchRetentionMs: RETENTION_MS,
  })
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await run('rm', ['-rf', '--', directory])
})

const homes = () => readdir(join(directory, 'scratch'))
const controls = () => readdir(join(directory, 'kernels'))

/** A home whose session ended this long ago. */
async function endedHome(agoMs: number, kernelId: string = randomUUID()): Promise<string> {
  await files.createScratch(kernelId)
  await files.ownScratch(kernelId)
  await writeFile(join(files.paths(kernelId).scratch, 'notes'), 'kept')
  await files.discard(kernelId, { scratch: 'keep' })
  const end = new Date(Date.now() - agoMs)
  await utimes(files.paths(kernelId).scratch, end, end)
  return kernelId
}

/** A path that a user can make with `mkdir` and `cd`, but that is too long for any system call. */
const makeDeep = (home: string) =>
  run('bash', ['-c', 'for i in $(seq 30); do mkdir "$0"; cd "$0"; done', 'long'.repeat(50)], { cwd: home })

async function sweep(live: readonly string[] = []): Promise<unknown[]> {
  const complaints: unknown[] = []
  await files.sweep({
    isLive: kernelId => live.includes(kernelId),
    nowMs: Date.now(),
    complain: error => complaints.push(error),
    signal: new AbortController().signal,
  })
  return complaints
}

test('a home is removed after its retention, not before, and never while its kernel exists', async () => {
  const [recent, old, running] = [
    await endedHome(RETENTION_MS / 2),
    await endedHome(RETENTION_MS),
    await endedHome(1e9),
  ]
  await mkdir(join(directory, 'scratch/lost+found'))
  expect(await sweep([running])).toEqual([])
  expect((await homes()).toSorted()).toEqual(['lost+found', recent, running].toSorted())
  expect(await homes()).not.toContain(old)
})

test('a home with an overlong path is removed, and the others too', async () => {
  const old = await Promise.all([1, 2, 3].map(() => endedHome(1e9)))
  for (const { scratch } of old.map(files.paths)) await makeDeep(scratch).then(() => utimes(scratch, 0, 0))
  expect(await sweep()).toEqual([])
  expect(await homes()).toEqual([])
})

test('the home of a session whose start is undone is removed', async () => {
  const kernelId = await endedHome(0)
  await makeDeep(files.paths(kernelId).scratch)
  await files.discard(kernelId, { scratch: 'remove' })
  expect(await homes()).toEqual([])
})

test('a home that cannot be removed is logged and does not keep other homes', async () => {
  const old = await Promise.all([1, 2, 3].map(() => endedHome(1e9)))
  const stuck = (await homes()).find(name => old.includes(name)) ?? ''
  await writeFile(join(directory, 'rm'), `#!/bin/sh\ncase "$*" in *${stuck}*) exit 1 ;; esac\nexec /bin/rm "$@"\n`)
  await chmod(join(directory, 'rm'), 0o755)
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`)
  expect(await sweep()).toEqual([expect.objectContaining({ message: expect.stringContaining(stuck) as string })])
  expect(await homes()).toEqual([`${stuck}.removed`])
  vi.unstubAllEnvs()
  expect(await sweep()).toEqual([])
  expect(await homes()).toEqual([])
})

test('the retention of a home whose end nobody saw begins when it is found', async () => {
  const kernelId = await endedHome(1e9)
  await files.createControl(kernelId, [])
  await sweep()
  expect(await controls()).toEqual([])
  expect(await homes()).toEqual([kernelId])
})

test('a kernel takes over the files of another one, and returns them if it does not start', async () => {
  const [old, next] = [await endedHome(1e9), randomUUID()]
  // Tried twice, as after a crash of the agent.
  for (let attempt = 0; attempt < 2; attempt++) await files.createScratch(next, old)
  expect(await homes()).toEqual([next])
  expect(await readdir(files.paths(next).scratch)).toEqual(['notes'])
  await files.discard(next, { scratch: 'remove' })
  expect(await sweep()).toEqual([])
  expect(await homes()).toEqual([old])
  await utimes(files.paths(old).scratch, 0, 0)
  await sweep()
  await expect(files.createScratch(next, old)).rejects.toMatchObject({ code: 'files_gone' })
})

test.each(['keep', 'remove'] as const)(
  'files of a kernel that has not started do not belong to it yet: %s',
  async scratch => {
    const [old, next] = [await endedHome(0), randomUUID()]
    await files.createScratch(next, old)
    await files.discard(next, { scratch })
    expect(await homes()).toEqual([old])
    expect(await readdir(files.paths(old).scratch)).toEqual(['notes'])
    expect(await controls()).toEqual([])
  },
)

test('a kernel that has started keeps the files that it took over', async () => {
  const [old, next] = [await endedHome(0), randomUUID()]
  await files.createScratch(next, old)
  await files.ownScratch(next)
  await files.ownScratch(next)
  await files.discard(next, { scratch: 'keep' })
  expect(await homes()).toEqual([next])
})

test('the next sweep returns files that a crashed agent had taken over for a start', async () => {
  const [old, next] = [await endedHome(1e9), randomUUID()]
  await files.createScratch(next, old)
  expect(await sweep([next])).toEqual([])
  expect(await homes()).toEqual([next])
  expect(await sweep()).toEqual([])
  // The retention of the files begins again.
  expect(await homes()).toEqual([old])
})

test('a kernel that starts while others are removed keeps its files', async () => {
  for (const kernelId of [randomUUID(), randomUUID()]) await files.createControl(kernelId, [])
  const asked: string[] = []
  await files.sweep({
    // The second kernel starts while the first is being removed.
    isLive: kernelId => asked.push(kernelId) > 1,
    nowMs: Date.now(),
    complain: vi.fn(),
    signal: new AbortController().signal,
  })
  expect(await controls()).toEqual(asked.slice(1))
})

test('a kernel that starts while its left-overs are removed keeps its files', async () => {
  const kernels = Array.from({ length: 20 }, () => randomUUID())
  for (const kernelId of kernels) await files.createControl(kernelId, [])
  const live = new Set<string>()
  const started: Promise<unknown>[] = []
  await files.sweep({
    isLive(kernelId) {
      if (live.has(kernelId)) return true
      live.add(kernelId)
      // The agent is asked to start this kernel right after the sweep has made its decision.
      started.push(Promise.resolve().then(() => startFiles(kernelId)))
      return false
    },
    nowMs: Date.now(),
    complain: vi.fn(),
    signal: new AbortController().signal,
  })
  await Promise.all(started)
  expect(started).toHaveLength(kernels.length)
  for (const kernelId of kernels) {
    expect((await readdir(join(directory, 'kernels', kernelId))).toSorted()).toEqual([
      'etc',
      'files-of',
      'run',
      'ssh.json',
    ])
    expect(await readdir(join(directory, 'kernels', kernelId, 'etc'))).toHaveLength(4)
    expect((await stat(files.paths(kernelId).scratch)).isDirectory()).toBe(true)
  }
})

async function startFiles(kernelId: string): Promise<void> {
  await Promise.all([files.createControl(kernelId, []), files.createScratch(kernelId)])
}

test('a sweep ends with the agent', async () => {
  await endedHome(1e9)
  await endedHome(1e9)
  const complain = vi.fn()
  const signal = AbortSignal.abort()
  await files.sweep({ isLive: () => false, nowMs: Date.now(), complain, signal })
  expect(await homes()).toHaveLength(2)
  expect(complain).not.toHaveBeenCalled()
})

test('when space is short, homes of ended sessions are deleted at once, never the home of a live kernel', async () => {
  files = createKernelFiles({
    directory,
    scratchDirectory: join(directory, 'scratch'),
    // Free space is above this floor, and below twice the floor: homes of ended sessions go, and nothing is refused yet.
    freeSpaceFloorBytes: await freeBytes().then(free => Math.floor(free * 0.75)),
    scratchRetentionMs: RETENTION_MS,
  })
  await endedHome(RETENTION_MS / 2)
  const running = await endedHome(RETENTION_MS / 2)
  expect(await sweep([running])).toEqual([])
  expect(await homes()).toEqual([running])
})

test('a home that another kernel will continue with is kept although space is short, until it is given up', async () => {
  files = createKernelFiles({
    directory,
    scratchDirectory: join(directory, 'scratch'),
    freeSpaceFloorBytes: await freeBytes().then(free => Math.floor(free * 0.75)),
    scratchRetentionMs: RETENTION_MS,
  })
  const kept = await endedHome(2 * RETENTION_MS)
  await files.discard(kept, { scratch: 'keep', keepMs: 10 * RETENTION_MS })
  expect(await sweep([])).toEqual([])
  expect(await homes()).toEqual([kept])
  await files.discard(kept, { scratch: 'keep' })
  await sweep([])
  expect(await homes()).toEqual([])
})

test('an announced interruption is a file with its time, and news only once', async () => {
  const kernelId = await endedHome(0)
  await files.createControl(kernelId, [])
  const path = join(files.paths(kernelId).control, 'interruption')
  const at = '2026-11-23T12:00:00.000Z'
  expect(await files.setInterruption(kernelId, at)).toBe(true)
  expect(await files.setInterruption(kernelId, at)).toBe(false)
  expect(await readFile(path, 'utf8')).toBe(`${at}\n`)
  expect(await files.setInterruption(kernelId, null)).toBe(true)
  expect(await files.setInterruption(kernelId, null)).toBe(false)
  await expect(readFile(path)).rejects.toThrow('ENOENT')
})

test('a start that the end of the agent interrupts leaves no home', async () => {
  const kernelId = randomUUID()
  await Promise.all([files.createScratch(kernelId), files.createControl(kernelId, [])])
  await files.writeEnvironment(kernelId, [])
  expect(await sweep([kernelId])).toEqual([])
  expect(await homes()).toEqual([kernelId])
  expect(await sweep()).toEqual([])
  expect(await homes()).toEqual([])
})

describe('a hostile home', () => {
  const started = async () => {
    const kernelId = await endedHome(0)
    await files.createControl(kernelId, [])
    return { kernelId, home: files.paths(kernelId).scratch }
  }
  const keyOf = async (kernelId: string) => (await files.readSsh(kernelId))?.privateKey

  test('if id_container is a directory, it is moved aside and the key is written', async () => {
    const { kernelId, home } = await started()
    for (const name of ['id_container', 'id_container.new', 'id_container.1']) {
      await mkdir(join(home, name))
      await writeFile(join(home, name, 'mine'), name)
    }
    await files.writeEnvironment(kernelId, [])
    expect(await readFile(join(home, 'id_container'), 'utf8')).toBe(await keyOf(kernelId))
    expect(await readFile(join(home, 'id_container.2', 'mine'), 'utf8')).toBe('id_container')
    await files.writeEnvironment(kernelId, [])
    expect((await readdir(home)).toSorted()).toEqual(
      ['id_container', 'id_container.1', 'id_container.2', 'id_container.new', 'notes'].toSorted(),
    )
  })

  test('if id_container is a link or a FIFO, nothing outside changes and nothing blocks', async () => {
    const { kernelId, home } = await started()
    const outside = join(directory, 'outside')
    await writeFile(outside, 'not yours')
    await symlink(outside, join(home, 'id_container'))
    await files.writeEnvironment(kernelId, [])
    expect(await readFile(outside, 'utf8')).toBe('not yours')
    await run('sh', ['-c', 'rm "$0"; mkfifo "$0"', join(home, 'id_container')])
    await files.writeEnvironment(kernelId, [])
    expect(await readFile(join(home, 'id_container'), 'utf8')).toBe(await keyOf(kernelId))
    expect((await lstat(join(home, 'id_container'))).mode & 0o7777).toBe(0o600)
  })

  test.each(['old', 'next'] as const)('a home that is a link is not followed: %s', async which => {
    const [old, next] = [await endedHome(0), randomUUID()]
    const outside = join(directory, 'outside')
    await mkdir(outside)
    const before = await lstat(outside)
    const path = files.paths(which === 'old' ? old : next).scratch
    if (which === 'old') await rename(path, join(directory, 'away'))
    await symlink(outside, path)
    const taken = files.createScratch(next, which === 'old' ? old : undefined)
    await expect(taken).rejects.toMatchObject({ code: 'files_gone' })
    const after = await lstat(outside)
    expect([after.uid, after.ctimeMs]).toEqual([before.uid, before.ctimeMs])
    expect(await readdir(outside)).toEqual([])
  })
})

describe.runIf(process.getuid?.() === 0)('as root', () => {
  /** A uid that is not the first login account of this or any other host. */
  const EARLIER = 1000

  test('sessions run as a user that cannot log in; names in the directory of homes are the agent’s', async () => {
    const { uid, gid } = await files.user()
    const { stdout } = await run('getent', ['passwd', String(uid)])
    expect(stdout).toMatch(/^berth-session:[^:]*:\d+:\d+:.*\/nologin\n$/)
    const scratch = await lstat(join(directory, 'scratch'))
    expect([scratch.uid, scratch.gid, scratch.mode & 0o7777]).toEqual([0, 0, 0o700])
    const kernelId = await endedHome(0)
    const home = await lstat(files.paths(kernelId).scratch)
    expect([home.uid, home.gid, home.mode & 0o7777]).toEqual([uid, gid, 0o700])
  })

  test('no other user of the host reaches a home, also in a directory that earlier agents left open', async () => {
    await chmod(directory, 0o755)
    await mkdir(join(directory, 'scratch'), { mode: 0o755 })
    await chmod(join(directory, 'scratch'), 0o711)
    const home = files.paths(await endedHome(0)).scratch
    // A session owns its home, and makes a set-user-id program in it that everybody may run.
    const program = join(home, 'program')
    await copyFile('/usr/bin/id', program)
    await chmod(program, 0o6755)
    await chmod(home, 0o755)
    for (const command of [`stat ${program}`, program]) {
      const asOther = ['--reuid=4321', '--regid=4321', '--clear-groups', 'sh', '-c', command]
      await expect(run('setpriv', asOther)).rejects.toThrow('Permission denied')
    }
  })

  test('a data directory of user 1000 is migrated, except homes in use and files of others', async () => {
    await mkdir(join(directory, 'scratch'))
    await chown(join(directory, 'scratch'), EARLIER, EARLIER)
    const [running, ended, next] = [randomUUID(), randomUUID(), randomUUID()]
    const outside = join(directory, 'outside')
    await writeFile(outside, '')
    for (const name of [running, ended]) {
      const home = files.paths(name).scratch
      await mkdir(join(home, 'sub'), { recursive: true })
      await writeFile(join(home, 'sub', 'mine'), '')
      await symlink(outside, join(home, 'link'))
      await symlink(directory, join(home, 'up'))
      await run('chown', ['-hR', `${EARLIER}:${EARLIER}`, home])
      await link(outside, join(home, 'hard'))
    }
    const { uid } = await files.user()
    expect(uid).not.toBe(EARLIER)
    expect(await sweep([running])).toEqual([])
    const owners = (home: string) =>
      Promise.all(['.', 'sub', 'sub/mine', 'link', 'up', 'hard'].map(async name => (await lstat(join(home, name))).uid))
    expect(await owners(files.paths(running).scratch)).toEqual([...Array.from({ length: 5 }, () => EARLIER), 0])
    expect(await owners(files.paths(ended).scratch)).toEqual([...Array.from({ length: 5 }, () => uid), 0])
    expect((await lstat(outside)).uid).toBe(0)
    expect((await lstat(directory)).uid).toBe(0)

    // The agent restarts; the other session ends, and is started again at once.
    files = createKernelFiles({
      directory,
      scratchDirectory: join(directory, 'scratch'),
      freeSpaceFloorBytes: 0,
      scratchRetentionMs: RETENTION_MS,
    })
    await files.createScratch(next, running)
    expect(await owners(files.paths(next).scratch)).toEqual([...Array.from({ length: 5 }, () => uid), 0])
  })

  test.each([
    ['homes', 'scratch'],
    ['control files', 'kernels'],
  ])('a disk that is full above the floor refuses a start, and leaves nothing of it: %s', async (_what, full) => {
    await endedHome(0)
    const place = join(directory, full)
    // The root directory takes the only inode. A disk with so few inodes has no floor.
    await run('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=1', 'tmpfs', place])
    try {
      const kernelId = randomUUID()
      const made = Promise.all([files.createScratch(kernelId), files.createControl(kernelId, [])])
      await expect(made).rejects.toMatchObject({
        code: 'disk_full',
        detail: { why: expect.stringContaining('ENOSPC') as string },
      })
      await files.discard(kernelId, { scratch: 'remove' })
      expect(await readdir(place)).toEqual([])
    } finally {
      await run('umount', [place])
    }
  })

  test('a folder that the manager has filled is given to the user of sessions with all its files', async () => {
    const kernelId = await endedHome(0)
    const { uid } = await lstat(files.paths(kernelId).scratch)
    const folder = join(directory, 'folder')
    await mkdir(join(folder, 'data'), { recursive: true })
    await writeFile(join(folder, 'data/early'), 'by the manager')
    await symlink('/etc/passwd', join(folder, 'link'))
    await writeFile(join(folder, 'foreign'), '')
    await chown(join(folder, 'foreign'), 12_345, 12_345)
    await files.ownFolder(folder, AbortSignal.timeout(10_000))
    const ownerOf = async (name: string) => (await lstat(join(folder, name))).uid
    const names = ['', 'data', 'data/early', 'link', 'foreign']
    expect(await Promise.all(names.map(ownerOf))).toEqual([uid, uid, uid, uid, 12_345])
    expect((await lstat('/etc/passwd')).uid).toBe(0)
  })

  test('a directory with another owner is not a home', async () => {
    const old = await endedHome(0)
    await lchown(files.paths(old).scratch, 12_345, 12_345)
    await expect(files.createScratch(randomUUID(), old)).rejects.toMatchObject({ code: 'files_gone' })
  })
})

async function freeBytes(): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
