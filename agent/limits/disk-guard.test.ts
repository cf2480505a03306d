import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { expect, test } from 'vitest'
import { type KernelId, type SessionId } from '#manager/contract'
import { type RunningKernel } from '../running-kernel.ts'
import { createDiskGuard } from './disk-guard.ts'
import { type DiskLimits } from './disk-rules.ts'
import { findHomeQuota } from './home-quota.ts'

const MiB = 2 ** 20
const isRoot = process.getuid?.() === 0
const LIMITS: DiskLimits = { bytes: 8 * MiB, inodes: 20 }

/** Checks once a home on a file system of this type with quotas; resolves to the message of the ended session, if any. */
async function lookAt(type: string, fill: (home: string) => Promise<void>): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-guard-'))
  try {
    const home = join(directory, 'home')
    await mkdir(home)
    await fill(home)
    const quota = await findHomeQuota({
      directory,
      limits: LIMITS,
      mountOf: () => Promise.resolve({ mountPoint: directory, type, options: ['prjquota'] }),
      run: () => Promise.resolve(''),
    })
    let message: string | undefined
    const guard = createDiskGuard({
      running: () => [kernel],
      homeOf: () => home,
      floorBytes: 0,
      limits: LIMITS,
      homeLimits: () => quota.unenforced(home),
      stop: (_id, why) => Promise.resolve(void (message = why.message)),
      log: pino({ level: 'silent' }),
      signal: new AbortController().signal,
    })
    await guard.check()
    return message
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const kernel: RunningKernel = {
  kernelId: 'k' as KernelId,
  sessionId: 's' as SessionId,
  containerId: 'c',
  address: '10.0.0.2',
  user: '1000:1000',
  apps: [],
  environ: {},
  pid: 0,
  devices: [],
  shares: [],
}

const bytes = (mib: number) => (home: string) => writeFile(join(home, 'data'), Buffer.alloc(mib * MiB, 1))
const files = (count: number) => async (home: string) => {
  for (let i = 0; i < count; i++) await writeFile(join(home, String(i)), '')
}

test('without a quota the guard enforces the limits of homes', async () => {
  expect(await lookAt('tmpfs', bytes(9))).toMatch(/in \/home\/work took 9 MiB.* 8 MiB/)
  expect(await lookAt('tmpfs', files(25))).toMatch(/files and folders in \/home\/work.* 20/)
  expect(await lookAt('tmpfs', bytes(7))).toBeUndefined()
})

test('what is written to volumes of the image counts with the other files outside of the home', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-guard-'))
  const [home = '', first = '', second = ''] = ['home', 'first', 'second'].map(name => join(directory, name))
  const messageOf = async () => {
    let message: string | undefined
    const guard = createDiskGuard({
      running: () => [{ ...kernel, volumes: [first, second] }],
      homeOf: () => home,
      floorBytes: 0,
      limits: LIMITS,
      homeLimits: () => Promise.resolve(LIMITS),
      stop: (_id, why) => Promise.resolve(void (message = why.message)),
      log: pino({ level: 'silent' }),
      signal: new AbortController().signal,
    })
    await guard.check()
    return message
  }
  try {
    for (const path of [home, first, second]) await mkdir(path)
    await bytes(5)(first)
    expect(await messageOf()).toBeUndefined()
    await bytes(5)(second)
    expect(await messageOf()).toMatch(/outside of \/home\/work took 10 MiB.* 8 MiB/)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test('a session whose limits cannot be read does not protect others from their end', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-guard-'))
  try {
    const homes = ['first', 'second'].map(name => join(directory, name))
    for (const home of homes) {
      await mkdir(home)
      await bytes(9)(home)
    }
    const ended: string[] = []
    const guard = createDiskGuard({
      running: () => ['first', 'second'].map(id => ({ ...kernel, kernelId: id as KernelId })),
      homeOf: id => join(directory, id),
      floorBytes: 0,
      limits: LIMITS,
      homeLimits: id => (id === 'first' ? Promise.reject(new Error('no answer')) : Promise.resolve(LIMITS)),
      stop: id => Promise.resolve(void ended.push(id)),
      log: pino({ level: 'silent' }),
      signal: new AbortController().signal,
    })
    await guard.check()
    expect(ended).toEqual(['second'])
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test.runIf(isRoot)(
  'on btrfs the guard counts the files, and the bytes of a home that is a plain directory',
  async () => {
    expect(await lookAt('btrfs', files(25))).toMatch(/files and folders in \/home\/work.* 20/)
    expect(await lookAt('btrfs', bytes(9))).toMatch('in /home/work took 9 MiB')
  },
)

test.runIf(isRoot)('with project quotas the guard ends a session whose files are not in the project', async () => {
  expect(await lookAt('ext4', bytes(12))).toMatch('in /home/work took 12 MiB')
  expect(await lookAt('xfs', files(25))).toMatch('files and folders in /home/work')
  // The quota itself keeps the session at its limit; bytes that the agent adds do not end it.
  expect(await lookAt('ext4', files(20))).toBeUndefined()
})
