import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pino from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type KernelId, type SessionId } from '#manager/contract'
import { type RunningKernel } from '../running-kernel.ts'
import { createDiskGuard, type DiskGuardDeps } from './disk-guard.ts'
import { diskUse } from './disk-use.ts'
import { tryStopping } from './stop-trial.ts'

/**
 * A small disk that somebody fills, with homes and folders on it. The processes of the sessions see both at the places of a container, in mount
 * namespaces of their own.
 */
const run = promisify(execFile)
const MiB = 2 ** 20
const FLOOR = 32 * MiB
const isRoot = process.getuid?.() === 0
let disk: string
/** A file on another disk. */
let elsewhere: string
let sessions: ChildProcess[]

beforeEach(async () => {
  sessions = []
  disk = await mkdtemp(join(tmpdir(), 'berth-test-fillers-'))
  elsewhere = `${disk}-elsewhere`
  if (isRoot) await run('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', disk])
})

afterEach(async () => {
  for (const session of sessions) {
    session.kill('SIGKILL')
    if (session.exitCode === null && session.signalCode === null) await once(session, 'exit')
  }
  if (isRoot) await run('umount', ['-l', disk])
  for (const path of [disk, elsewhere]) await rm(path, { recursive: true, force: true })
})

/** Starts a process that sees its home, and the folder in it. @param script what it does when it is told to begin */
async function startSession(name: string, folder: string, script = ''): Promise<RunningKernel> {
  await mkdir(join(disk, name))
  await mkdir(join(disk, name, 'data'))
  await mkdir(join(disk, folder), { recursive: true })
  const mounts = [
    'mount --make-rprivate /',
    'mount -t tmpfs tmpfs /home',
    'mkdir /home/work',
    `mount --bind "$DISK/${name}" /home/work`,
    `mount --bind "$DISK/${folder}" /home/work/data`,
    'cd /home/work',
  ]
  const session = spawn(
    'unshare',
    ['-m', 'sh', '-ec', [...mounts, 'echo', 'read -r _', script, 'echo', 'read -r _'].join('\n')],
    {
      env: { ...process.env, DISK: disk, ELSEWHERE: elsewhere },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  sessions.push(session)
  await once(session.stdout, 'data')
  return {
    kernelId: name as KernelId,
    sessionId: name as SessionId,
    containerId: name,
    address: '10.0.0.2',
    user: '1000:1000',
    apps: [],
    environ: {},
    pid: session.pid ?? 0,
    devices: [],
    shares: [],
  }
}

async function begin(index: number): Promise<void> {
  const session = sessions[index]
  session?.stdin?.write('\n')
  if (session?.stdout) await once(session.stdout, 'data')
}

function depsOf(kernels: readonly RunningKernel[], ended: string[]): DiskGuardDeps {
  return {
    running: () => kernels,
    homeOf: id => join(disk, id),
    floorBytes: FLOOR,
    limits: { bytes: undefined, inodes: undefined },
    homeLimits: () => Promise.resolve({ bytes: undefined, inodes: undefined }),
    stop: (id, { code }) => Promise.resolve(void ended.push(`${id} ${code}`)),
    processes: ({ pid }) => [pid],
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  }
}

function guardOf(kernels: readonly RunningKernel[]) {
  const ended: string[] = []
  return { ended, guard: createDiskGuard(depsOf(kernels, ended)) }
}

/** Sessions that have been ended, after one more look: a look that comes too soon after the last one measures nothing, because measuring has to rest. */
async function endedBy(guard: { check(): Promise<void> }, ended: readonly string[]): Promise<readonly string[]> {
  await guard.check()
  return ended
}

const write = (path: string, mib: number) => writeFile(join(disk, path), Buffer.alloc(mib * MiB, 1))

test.runIf(isRoot)(
  'a session that fills the disk through a folder is ended, not the one with a large old folder',
  async () => {
    await mkdir(join(disk, 'folders/old'), { recursive: true })
    await write('folders/old/data', 40)
    const kernels = [
      await startSession('alice', 'folders/old'),
      await startSession('mallory', 'folders/new', `head -c ${40 * MiB} /dev/zero > data/x`),
    ]
    const { ended, guard } = guardOf(kernels)
    await guard.check()
    await write('alice/little', 1)
    expect(ended).toEqual([])
    await begin(1)
    await expect.poll(() => endedBy(guard, ended)).toEqual(['mallory disk_limit'])
  },
)

test.runIf(isRoot)('a session that fills the disk with a deleted file is ended', async () => {
  const kernels = [
    await startSession('alice', 'folders/a'),
    await startSession('mallory', 'folders/m', `exec 3>x; rm x; head -c ${70 * MiB} /dev/zero >&3`),
  ]
  const { ended, guard } = guardOf(kernels)
  await guard.check()
  await begin(1)
  await expect.poll(() => endedBy(guard, ended)).toEqual(['mallory disk_limit'])
})

test.runIf(isRoot)('a deleted file that was there before ends nobody when another program fills the disk', async () => {
  const kernels = [await startSession('alice', 'folders/a', `exec 3>x; rm x; head -c ${40 * MiB} /dev/zero >&3`)]
  await begin(0)
  const { ended, guard } = guardOf(kernels)
  await guard.check()
  const file = await open(join(disk, 'other'), 'w')
  await file.write(Buffer.alloc(40 * MiB, 1))
  await file.close()
  await guard.check()
  expect(ended).toEqual([])
})

test.runIf(isRoot)(
  'a session that moves its files past each walk is measured while it is stopped, and ended',
  async () => {
    const kernels = [await startSession('alice', 'folders/a'), await startSession('mallory', 'folders/m')]
    let stopped = ''
    const ended: string[] = []
    const guard = createDiskGuard({
      ...depsOf(kernels, ended),
      // As if Mallory moved what it wrote behind the walk.
      measure: async (path, signal) => {
        const use = await diskUse(path, signal)
        return use && path.endsWith('mallory') && stopped !== 'mallory' ? { bytes: 0, inodes: 1 } : use
      },
      freeze: ({ kernelId }) => {
        stopped = kernelId
        return Promise.resolve({
          [Symbol.asyncDispose]: () => {
            stopped = ''
            return Promise.resolve()
          },
        })
      },
    })
    await guard.check()
    await write('alice/some', 4)
    await write('mallory/x', 68)
    await expect.poll(() => endedBy(guard, ended)).toEqual(['mallory disk_limit'])
    expect(stopped).toBe('')
  },
)

test.runIf(isRoot)('a session whose files take long to count keeps the guard from nobody else', async () => {
  const kernels = [await startSession('slow', 'folders/a'), await startSession('mallory', 'folders/m')]
  const ended: string[] = []
  const endless = Promise.withResolvers<undefined>()
  let taken = 0
  const guard = createDiskGuard({
    ...depsOf(kernels, ended),
    patienceMs: 1,
    measure(path) {
      if (path.endsWith('slow')) return endless.promise
      return Promise.resolve({ bytes: path.endsWith('mallory') ? taken : 0, inodes: 1 })
    },
  })
  await guard.check()
  taken = 72 * MiB
  await write('mallory/x', 72)
  await expect.poll(() => endedBy(guard, ended)).toEqual(['mallory disk_limit'])
  endless.resolve(undefined)
})

/** Writes as much to another disk, so that its counter is as high as that of a session that hides its files. */
const WRITE_ELSEWHERE = `head -c ${60 * MiB} /dev/zero >"$ELSEWHERE"`

/**
 * Fills the disk while a session writes as much to another one.
 * @param fills called each time that the trial waits
 * @returns sessions that were ended
 */
async function endedWhile(fills: (isStopped: boolean) => Promise<void>): Promise<string[]> {
  const kernels = [await startSession('busy', 'folders/a', WRITE_ELSEWHERE)]
  const ended: string[] = []
  let [ms, isStopped] = [0, false]
  const guard = createDiskGuard({
    ...depsOf(kernels, ended),
    freeze() {
      isStopped = true
      return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve(void (isStopped = false)) })
    },
    trial: trial =>
      tryStopping({
        ...trial,
        now: () => ms,
        async wait() {
          ms += 100
          await fills(isStopped)
        },
      }),
  })
  await guard.check()
  await write('other', 70)
  await begin(0)
  await guard.check()
  expect(isStopped).toBe(false)
  return ended
}
const fill = () => appendFile(join(disk, 'other'), Buffer.alloc(MiB, 1))

test.runIf(isRoot)('a session that writes elsewhere is not ended while another program fills the disk', async () => {
  expect(await endedWhile(fill)).toEqual([])
})

test.runIf(isRoot)(
  'a session that writes elsewhere is not ended after another program has filled the disk',
  async () => {
    expect(await endedWhile(() => Promise.resolve())).toEqual([])
  },
)

test.runIf(isRoot)('a session is ended if the disk fills with what it hides, whenever it is not stopped', async () => {
  expect(await endedWhile(isStopped => (isStopped ? Promise.resolve() : fill()))).toEqual(['busy disk_limit'])
})
