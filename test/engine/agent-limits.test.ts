import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { type KernelFolder, type KernelSpec } from '#agent/contract'
import { FolderId } from '#manager/contract'
import { busyboxImage, docker, execIn, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/** Mallory's session uses up everything that sessions share on a host; Alice's session beside it must keep working. */
const stack = new AsyncDisposableStack()
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess

beforeAll(async () => {
  await busyboxImage()
  manager = stack.use(await startFakeManager())
  stack.defer(() => removeByManager(manager.managerId))
  home = stack.use(await createAgentHome())
  agent = stack.use(await spawnAgent(home, { BERTH_JOIN: manager.join() }))
  await agent.firstLine
})
afterEach(async () => {
  for (const { kernelId } of manager.report?.kernels ?? []) {
    await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
  }
})
afterAll(() => stack.disposeAsync())

const session = async (changes: Partial<KernelSpec> = {}) => {
  const spec = aKernelSpec(changes)
  const { containerId } = await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  return { kernelId: spec.kernelId, containerId }
}

const BASH = ['/opt/berth/bin/bash', '-c', 'PATH=$PATH:/opt/berth/applets; eval "$0"'] as const
const ENDED_BY_TIMEOUT = 143
/** Tries to hold two terminals for a second. */
const takeOne = (containerId: string) =>
  execIn(containerId, '/opt/berth/bin/busybox', 'timeout', '1', '/opt/berth/bin/socat', 'PTY', 'PTY')

test('terminals: a session has 64 of its own, and leaves no volume behind', async () => {
  const [mallory, alice] = await Promise.all([session(), session()])
  // Each program takes one terminal: a program with two would give one back. The list contains all of them, and ptmx.
  const take =
    'for i in $(seq 80); do /opt/berth/bin/socat -u PTY /dev/null >/dev/null 2>&1 </dev/null & done; ' +
    'for i in $(seq 100); do [ $(ls /dev/pts | wc -l) -gt 64 ] && break; sleep 0.3; done; sleep 1; ls /dev/pts'
  const { stdout } = await execIn(mallory.containerId, ...BASH, take)
  expect(stdout.split('\n').filter(name => /^\d+$/.test(name))).toHaveLength(64)
  expect(await takeOne(mallory.containerId)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('No space left on device') as string,
  })
  expect((await takeOne(alice.containerId)).exitCode).toBe(ENDED_BY_TIMEOUT)

  const { Mounts } = await docker.getContainer(mallory.containerId).inspect()
  const volume = Mounts.find(({ Destination }) => Destination === '/dev/pts')?.Name ?? ''
  await manager.request('destroy_kernel', { kernelId: mallory.kernelId, graceMs: 0 })
  await expect(docker.getVolume(volume).inspect()).rejects.toMatchObject({ statusCode: 404 })
})

test('terminals: the volume of a container that others removed is removed by the next sweep', async () => {
  const { containerId } = await session()
  const other = await session()
  const volumeOf = async (id: string) =>
    (await docker.getContainer(id).inspect()).Mounts.find(({ Destination }) => Destination === '/dev/pts')?.Name ?? ''
  const [volume, used] = [await volumeOf(containerId), await volumeOf(other.containerId)]
  await docker.getContainer(containerId).remove({ force: true })
  const statusOf = (name: string) =>
    docker
      .getVolume(name)
      .inspect()
      .then(
        () => 200,
        (error: unknown) => (error as { statusCode: number }).statusCode,
      )
  await expect
    .poll(
      async () => {
        await manager.request('list_kernels', {})
        return statusOf(volume)
      },
      { timeout: 120_000 },
    )
    .toBe(404)
  expect(await statusOf(used)).toBe(200)
})

test('terminals: volumes without labels from earlier versions are removed, those of others stay', async () => {
  await session()
  const made = async (DriverOpts: Record<string, string>) => {
    // The form of the engine's names for anonymous volumes.
    const Name = randomBytes(32).toString('hex')
    await docker.createVolume({ Name, Driver: 'local', DriverOpts })
    return docker.getVolume(Name)
  }
  const ours = 'newinstance,ptmxmode=0666,mode=0620,gid=5,max=64,nosuid,noexec'
  const devpts = { type: 'devpts', device: 'devpts' }
  const [old, other] = [await made({ ...devpts, o: ours }), await made({ ...devpts, o: 'newinstance' })]
  try {
    const isThere = async () => {
      await manager.request('list_kernels', {})
      return old.inspect().then(
        () => true,
        () => false,
      )
    }
    await expect.poll(isThere).toBe(false)
    await other.inspect()
  } finally {
    await other.remove()
  }
})

const run = promisify(execFile)
const MiB = 2 ** 20
const PYTHON = { image: { reference: 'berth/python:3.13', digest: '' } }
/**
 * Takes inotify instances until the kernel refuses, and holds them. Prints their number, and prints it again after being killed and
 * restarted.
 */
const TAKE_ALL = `
import ctypes, os, time
libc = ctypes.CDLL(None)
while True:
    child = os.fork()
    if child == 0:
        taken = 0
        while libc.inotify_init() >= 0: taken += 1
        print(taken, flush=True)
        time.sleep(1000)
    os.waitpid(child, 0)
`
const WATCH_ONE = 'import ctypes, sys; sys.exit(0 if ctypes.CDLL(None).inotify_init() >= 0 else 9)'

test('inotify: a session that takes all instances loses them, and is ended if it continues', async () => {
  const [mallory, alice] = await Promise.all([session(PYTHON), session(PYTHON)])
  const watch = async () => (await execIn(alice.containerId, 'python3', '-c', WATCH_ONE)).exitCode
  const attack = execIn(mallory.containerId, 'python3', '-u', '-c', TAKE_ALL)
  await expect.poll(watch).toBe(9)
  await expect.poll(watch).toBe(0)
  await expect
    .poll(() => manager.kernel(mallory.kernelId)?.state)
    .toMatchObject({ state: 'exited', stopped: { code: 'host_limit' } })
  await attack
  expect(await watch()).toBe(0)
  expect(manager.kernel(alice.kernelId)?.state.state).toBe('running')
})

/**
 * Sends descriptors over Unix sockets that nobody receives, until the kernel refuses, and again when it was killed. The first thread of
 * the process ends, so /proc/PID/fd shows nothing.
 */
const SEND_ALL = `
import array, ctypes, os, platform, socket, threading, time
def fill():
    pairs = []
    fds = array.array('i', [0] * 250)
    while True:
        pair = socket.socketpair()
        pair[0].setblocking(False)
        pairs.append(pair)
        try:
            while True: pair[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        except BlockingIOError: continue
        except OSError as error:
            print(error, flush=True)
            time.sleep(1000)
while True:
    child = os.fork()
    if child == 0:
        threading.Thread(target=fill).start()
        ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)
    os.waitpid(child, 0)
`
const SEND_ONE = `
import array, socket, sys
a, b = socket.socketpair()
try: a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])
except OSError as error: sys.exit(error.errno)
`
/** Sends descriptors over sockets that are sent over a socket and closed: no process has them any more. */
const HIDE_ALL = `
import array, socket, time
fds = array.array('i', [0] * 250)
outer = socket.socketpair()
try:
    while True:
        pair = socket.socketpair()
        pair[0].setblocking(False)
        try:
            for _ in range(8): pair[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        except BlockingIOError: pass
        outer[0].sendmsg([b'y'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [end.fileno() for end in pair]))])
        for end in pair: end.close()
except OSError as error:
    print(error, flush=True)
    time.sleep(1000)
`
const ETOOMANYREFS = 109
/** Queues real-time signals to itself until the kernel refuses, and again when it was killed. */
const QUEUE_ALL = `
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
while True:
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, [40])
        while libc.sigqueue(os.getpid(), 40, 0) == 0: pass
        time.sleep(1000)
    os.waitpid(child, 0)
`
const SET_TIMER = `
import ctypes, sys
libc = ctypes.CDLL('librt.so.1', use_errno=True)
timer = ctypes.c_void_p()
sys.exit(0 if libc.timer_create(1, None, ctypes.byref(timer)) == 0 else ctypes.get_errno())
`
const EAGAIN = 11

/** Mallory takes all of something, and Alice looks whether she still gets one. */
async function outlives(takeAll: string, useOne: string, refused: number): Promise<void> {
  const [mallory, alice] = await Promise.all([session(PYTHON), session(PYTHON)])
  const use = async () => (await execIn(alice.containerId, 'python3', '-c', useOne)).exitCode
  const attack = execIn(mallory.containerId, 'python3', '-u', '-c', takeAll)
  await expect.poll(use).toBe(refused)
  await expect.poll(use).toBe(0)
  await expect
    .poll(() => manager.kernel(mallory.kernelId)?.state)
    .toMatchObject({ state: 'exited', stopped: { code: 'host_limit' } })
  await attack
  expect(await use()).toBe(0)
  expect(manager.kernel(alice.kernelId)?.state.state).toBe('running')
}

test('descriptors in flight, and pending signals: a session that has all loses them, and is ended if it continues', async () => {
  await Promise.all([outlives(SEND_ALL, SEND_ONE, ETOOMANYREFS), outlives(QUEUE_ALL, SET_TIMER, EAGAIN)])
})

test('descriptors in flight: a session that hides them in sockets that are in flight is ended', () =>
  outlives(HIDE_ALL, SEND_ONE, ETOOMANYREFS))

describe('a small disk with homes', () => {
  const disks = new AsyncDisposableStack()
  let scratch: string
  /** Size of a disk to which a session writes 30 MiB per second, so that it needs seconds to reach the floor. */
  const SIZE_MIB = 350
  /** Enough that a fast session needs seconds to reach the floor, as on a host's disk; most of them are in use by others. */
  const INODES = 120_000
  const TAKEN = 100_000
  const STORAGE = '0f7c29de-6f4f-4c8e-9a55-3f7f1f2f9b11'

  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-test-disk-'))
    disks.defer(() => rm(directory, { recursive: true, force: true }))
    const image = join(directory, 'image')
    scratch = join(directory, 'scratch')
    await Promise.all([writeFile(image, ''), mkdir(scratch)])
    await truncate(image, SIZE_MIB * MiB)
    await run('mkfs.ext4', ['-q', '-F', '-m', '0', '-N', String(INODES), image])
    await run('mount', ['-o', 'loop', image, scratch])
    disks.defer(async () => {
      await run('umount', [scratch])
    })
    await run('sh', ['-c', 'mkdir "$0/others" && cd "$0/others" && seq "$1" | xargs touch', scratch, String(TAKEN)])
  })
  afterAll(() => disks.disposeAsync())

  /** Sessions on that disk, with their own agent and manager. */
  async function onSmallDisk(environment: Readonly<Record<string, string>> = {}) {
    await using opening = new AsyncDisposableStack()
    opening.defer(async () => {
      await run('sh', ['-c', 'rm -rf "$0"/*-*', scratch])
    })
    const storage = join(scratch, 'storage-of-folders')
    await mkdir(join(storage, 'folders'), { recursive: true })
    await writeFile(join(storage, '.berth-storage'), STORAGE)
    const own = opening.use(await startFakeManager())
    opening.defer(() => removeByManager(own.managerId))
    const data = opening.use(await createAgentHome())
    const started = opening.use(
      await spawnAgent(data, {
        BERTH_JOIN: own.join(),
        BERTH_AGENT_SCRATCH: scratch,
        BERTH_STORAGE: `local=${storage}`,
        BERTH_AGENT_NETWORK_RANGE: '10.214.0.0/16',
        ...environment,
      }),
    )
    await started.firstLine
    const start = async (changes: Partial<KernelSpec> = {}) => {
      const spec = aKernelSpec(changes)
      for (const { folder } of spec.folders ?? []) await mkdir(join(storage, 'folders', folder))
      const { containerId } = await own.request('create_kernel', { spec, startWithinMs: 60_000 })
      return { kernelId: spec.kernelId, containerId }
    }
    const opened = opening.move()
    return {
      start,
      stateOf: (kernelId: string) => own.kernel(kernelId)?.state,
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    }
  }
  const aFolder = (number: number): KernelFolder => ({
    storage: STORAGE,
    folder: FolderId.parse(`01990000-0000-7000-8000-${String(number).padStart(12, '0')}`),
    path: 'data',
    readOnly: false,
  })
  const slowly = (mib: number, where: string) =>
    `for i in $(seq ${mib / 10}); do dd if=/dev/zero bs=1M count=10 2>/dev/null ${where} || exit; sleep 0.3; done`
  const write = (containerId: string, path: string, mib: number) =>
    execIn(containerId, ...BASH, slowly(mib, `>> ${path}`))

  test.each([
    ['bytes', (id: string) => write(id, '/home/work/big', SIZE_MIB), /nearly full.*MiB within minutes/],
    [
      'bytes in a folder',
      (id: string) => write(id, '/home/work/data/big', SIZE_MIB),
      /nearly full.*MiB within minutes/,
    ],
    [
      'bytes of a deleted file',
      (id: string) => execIn(id, ...BASH, `cd /home/work; exec 3>x; rm x; ${slowly(SIZE_MIB, '>&3')}; sleep 100`),
      /nearly full.*MiB within minutes/,
    ],
    [
      'inodes',
      (id: string) =>
        execIn(
          id,
          ...BASH,
          'for d in $(seq 200); do mkdir ~/$d; seq 100 | sed "s#^#$HOME/$d/#" | xargs touch; sleep 0.02; done',
        ),
      /files within minutes/,
    ],
  ])('%s: the session that fills it is ended before the others fail to write', async (_what, attack, why) => {
    await using host = await onSmallDisk()
    const [mallory, alice] = [await host.start({ folders: [aFolder(1)] }), await host.start({ folders: [aFolder(2)] })]
    await execIn(alice.containerId, ...BASH, 'dd if=/dev/zero of=/home/work/a bs=1M count=3')
    await attack(mallory.containerId)
    await expect
      .poll(() => host.stateOf(mallory.kernelId))
      .toMatchObject({
        state: 'exited',
        stopped: { code: 'disk_limit', message: expect.stringMatching(why) as string },
      })
    expect(
      await execIn(alice.containerId, ...BASH, 'dd if=/dev/zero of=/home/work/b bs=1M count=3 2>&1'),
    ).toMatchObject({
      exitCode: 0,
    })
    expect(host.stateOf(alice.kernelId)?.state).toBe('running')
  })

  test.each([
    ['/home/work', {}],
    ['/tmp', PYTHON],
  ])('a limit per home ends a session that exceeds it: %s', async (where, image) => {
    await using host = await onSmallDisk({ BERTH_AGENT_HOME_LIMIT_MIB: '30' })
    const { containerId, kernelId } = await host.start(image)
    await execIn(containerId, ...BASH, `dd if=/dev/zero of=${where}/big bs=1M count=50`)
    await expect
      .poll(() => host.stateOf(kernelId))
      .toMatchObject({
        state: 'exited',
        stopped: { code: 'disk_limit', message: expect.stringContaining('the limit on this host is 30 MiB') as string },
      })
  })
})
