import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, statfs, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
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

/** A home whose session ended so long ago. */
async function endedHome(agoMs: number, kernelId: string = randomUUID()): Promise<string> {
  await files.createScratch(kernelId)
  await writeFile(join(files.paths(kernelId).scratch, 'notes'), 'kept')
  const end = new Date(Date.now() - agoMs)
  await utimes(files.paths(kernelId).scratch, end, end)
  return kernelId
}

/** What a user can make with `mkdir` and `cd` alone: a path that no system call takes as a whole. */
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

test('a home is removed when its retention is over, not before, and never that of a kernel', async () => {
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

test('a home with a path that is too long to be said is removed, and so are the others', async () => {
  const old = await Promise.all([1, 2, 3].map(() => endedHome(1e9)))
  for (const { scratch } of old.map(files.paths)) await makeDeep(scratch).then(() => utimes(scratch, 0, 0))
  expect(await sweep()).toEqual([])
  expect(await homes()).toEqual([])
})

test('so is that of a session whose start is undone', async () => {
  const kernelId = await endedHome(0)
  await makeDeep(files.paths(kernelId).scratch)
  await files.discard(kernelId, { scratch: 'remove' })
  expect(await homes()).toEqual([])
})

test('one home that cannot be removed is complained of, and keeps nobody else’s', async () => {
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

test('a kernel that goes on with the files of another one has them, and gives them back if it does not start', async () => {
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

test.each(['keep', 'remove'] as const)('files whose kernel has not started are not its own yet: %s', async scratch => {
  const [old, next] = [await endedHome(0), randomUUID()]
  await files.createScratch(next, old)
  await files.discard(next, { scratch })
  expect(await homes()).toEqual([old])
  expect(await readdir(files.paths(old).scratch)).toEqual(['notes'])
  expect(await controls()).toEqual([])
})

test('a kernel that has started keeps the files of the other one', async () => {
  const [old, next] = [await endedHome(0), randomUUID()]
  await files.createScratch(next, old)
  await files.ownScratch(next)
  await files.ownScratch(next)
  await files.discard(next, { scratch: 'keep' })
  expect(await homes()).toEqual([next])
})

test('files that a crashed agent had taken over for a start go back with the next sweep', async () => {
  const [old, next] = [await endedHome(1e9), randomUUID()]
  await files.createScratch(next, old)
  expect(await sweep([next])).toEqual([])
  expect(await homes()).toEqual([next])
  expect(await sweep()).toEqual([])
  // Their retention begins anew.
  expect(await homes()).toEqual([old])
})

test('a kernel that comes while others are removed keeps what it has', async () => {
  for (const kernelId of [randomUUID(), randomUUID()]) await files.createControl(kernelId, [])
  const asked: string[] = []
  await files.sweep({
    // While the first is being removed the second one is made.
    isLive: kernelId => asked.push(kernelId) > 1,
    nowMs: Date.now(),
    complain: vi.fn(),
    signal: new AbortController().signal,
  })
  expect(await controls()).toEqual(asked.slice(1))
})

test('a sweep ends with the agent', async () => {
  await endedHome(1e9)
  await endedHome(1e9)
  const complain = vi.fn()
  const signal = AbortSignal.abort()
  await files.sweep({ isLive: () => false, nowMs: Date.now(), complain, signal })
  expect(await homes()).toHaveLength(2)
  expect(complain).not.toHaveBeenCalled()
})

test('where room is short the homes of the past go at once, never that of a kernel', async () => {
  files = createKernelFiles({
    directory,
    scratchDirectory: join(directory, 'scratch'),
    // More than there is twice, less than there is once.
    freeSpaceFloorBytes: await freeBytes().then(free => Math.floor(free * 0.75)),
    scratchRetentionMs: RETENTION_MS,
  })
  await endedHome(RETENTION_MS / 2)
  const running = await endedHome(RETENTION_MS / 2)
  expect(await sweep([running])).toEqual([])
  expect(await homes()).toEqual([running])
})

async function freeBytes(): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
