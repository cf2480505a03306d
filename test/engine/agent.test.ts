import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { processLimit } from '../../agent/docker/process-limit.ts'
import { hostProcesses } from '../../agent/limits/host-processes.ts'
import { type KernelApp } from '#agent/contract'
import { type AppOptions } from '#manager/contract'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import {
  addressOf,
  BUSYBOX_IMAGE,
  busyboxImage,
  docker,
  execIn,
  madeContainer,
  removeByManager,
  tinyImage,
  TINY_IMAGE,
} from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'
import { sshExec } from '../fixtures/session-ssh.ts'

const run = promisify(execFile)

let manager: FakeManager
let home: AgentHome
let agent: AgentProcess
/** The agent of these tests is root, so it has created an account for sessions. */
let sessionUid: number

beforeAll(async () => {
  await Promise.all([busyboxImage(), tinyImage()])
  manager = await startFakeManager()
  home = await createAgentHome()
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join() })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
  sessionUid = Number((await run('id', ['-u', 'berth-session'])).stdout)
})

afterEach(async () => {
  for (const { kernelId } of manager.report?.kernels ?? []) {
    await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
  }
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  for (const image of appImages) await docker.getImage(image).remove({ force: true })
  await home[Symbol.asyncDispose]()
})

const create = (spec = aKernelSpec(), startWithinMs = 60_000) =>
  manager.request('create_kernel', { spec, startWithinMs })
/** busybox with an app in its labels, because a session runs the apps of its image. */
async function imageWith(app: KernelApp): Promise<{ reference: string; digest: string }> {
  await using container = await madeContainer({ Image: BUSYBOX_IMAGE, Cmd: ['none'] })
  const reference = `berth-test/app-${manager.managerId}:1`
  const label = `LABEL berth.image.apps=${JSON.stringify(JSON.stringify([app]))}`
  const made = (await container.commit({ repo: reference.slice(0, -2), tag: '1', changes: label })) as { Id: string }
  appImages.add(reference)
  return { reference, digest: made.Id }
}
const appImages = new Set<string>()
const filters = () => ({ label: [`berth.manager=${manager.managerId}`] })
const leftovers = async () => ({
  containers: (await docker.listContainers({ all: true, filters: filters() })).length,
  networks: (await docker.listNetworks({ filters: filters() })).length,
  volumes: (await docker.listVolumes({ filters: { label: [...filters().label, 'berth.kernel-id'] } })).Volumes.length,
  control: (await readdir(join(home.data, 'agent/kernels'))).length,
})
/** Kernels that have a home. */
const homes = () => readdir(join(home.data, 'agent/scratch'))
const NOTHING = { containers: 0, networks: 0, volumes: 0, control: 0 }

describe('a session', () => {
  test('a session is created, accepts SSH with its own key, and leaves nothing behind', async () => {
    const spec = aKernelSpec()
    const { containerId, ssh } = await create(spec)
    expect(await execIn(containerId, 'id', '-u')).toEqual({ stdout: `${sessionUid}\n`, exitCode: 0 })
    expect((await execIn(containerId, 'stat', '-c', '%a %u', '/home/work/id_container')).stdout).toBe(
      `600 ${sessionUid}\n`,
    )
    await expect.poll(() => manager.kernel(spec.kernelId)?.state.state).toBe('running')
    expect(await manager.request('get_ssh', { kernelId: spec.kernelId })).toEqual(ssh)

    await manager.request('start_app', { kernelId: spec.kernelId, app: 'sshd', timeoutMs: 20_000 })
    const address = await addressOf(containerId)
    const hostKey = ssh.hostKey.split(' ')[1]!
    const output = await sshExec({ address, privateKey: ssh.privateKey, hostKey }, 'echo $GREETING-$FOO-$(id -un)')
    expect(output).toBe('hello-bar-work\n')

    const reply = await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 2000 })
    expect(reply.exitCode).toBe(143)
    expect(await leftovers()).toEqual(NOTHING)
    await expect.poll(() => manager.report?.kernels).toEqual([])
    // The home stays for a while.
    expect(await readdir(join(home.data, 'agent/scratch', spec.kernelId))).toContain('id_container')
  })

  test('a session runs as a user that cannot log in: the first user of the host cannot read, write or stop it', async () => {
    const { containerId } = await create()
    const { Pid } = (await docker.getContainer(containerId).inspect()).State
    expect(await readFile(`/proc/${Pid}/status`, 'utf8')).toMatch(new RegExp(`^Uid:\\t${sessionUid}\\t`, 'm'))
    expect((await run('getent', ['passwd', String(sessionUid)])).stdout).toMatch(/^berth-session:.*\/nologin\n$/)
    const human = { uid: 1000, gid: 1000 }
    const inside = `/proc/${Pid}/root/home/work`
    await expect(run('cat', [`${inside}/id_container`], human)).rejects.toThrow('Permission denied')
    await expect(run('touch', [`${inside}/.bashrc`], human)).rejects.toThrow('Permission denied')
    await expect(run('sh', ['-c', `kill ${Pid}`], human)).rejects.toThrow(/not permitted/)
    expect((await execIn(containerId, 'sh', '-c', 'echo x > /home/work/x && stat -c %U /home/work/x')).stdout).toBe(
      'work\n',
    )
  })

  test('a session has the requested limits, and no other privileges', async () => {
    const spec = aKernelSpec({ slots: { cpu: 1000, mem: 64 * 2 ** 20 }, shmemBytes: 8 * 2 ** 20 })
    const { containerId } = await create(spec)
    const { HostConfig, Config } = await docker.getContainer(containerId).inspect()
    expect(HostConfig).toMatchObject({
      NanoCpus: 1_000_000_000,
      Memory: 64 * 2 ** 20,
      MemorySwap: 64 * 2 ** 20,
      ShmSize: 8 * 2 ** 20,
      PidsLimit: processLimit({
        mem: 64 * 2 ** 20,
        hostMem: ((await docker.info()) as { MemTotal: number }).MemTotal,
        hostProcesses: hostProcesses(),
      }),
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PortBindings: {},
    })
    expect(Config.User).toMatch(new RegExp(`^${sessionUid}:\\d+$`))
    expect((await execIn(containerId, 'nproc')).stdout).toBe('1\n')
    const status = (await execIn(containerId, 'cat', '/proc/self/status')).stdout
    expect(status).toMatch(/CapEff:\t0+\n/)
    expect(status).toMatch(/CapBnd:\t0+\n/)
    expect(status).toMatch(/NoNewPrivs:\t1\n/)
    expect(status).toMatch(/Seccomp:\t2\n/)
    for (const path of ['/opt/berth/x', '/run/berth/x', '/etc/passwd']) {
      expect((await execIn(containerId, 'sh', '-c', `echo x >> ${path}`)).exitCode).not.toBe(0)
    }
  })

  test('a session that runs out of memory is told apart from one that ends by itself', async () => {
    const oom = aKernelSpec({
      slots: { cpu: 500, mem: 32 * 2 ** 20 },
      startupCommand: 'dd if=/dev/zero of=/dev/null bs=200M count=1',
    })
    const ends = aKernelSpec({ startupCommand: 'echo last words; exit 3' })
    await Promise.all([create(oom), create(ends)])
    const exited = (kernelId: string) => expect.poll(() => manager.kernel(kernelId)?.state)
    await exited(ends.kernelId).toMatchObject({
      state: 'exited',
      exitCode: 3,
      oomKilled: false,
      engineRestarted: false,
    })
    await exited(oom.kernelId).toMatchObject({
      state: 'exited',
      exitCode: 137,
      oomKilled: true,
      engineRestarted: false,
    })
    expect(await manager.request('get_logs', { kernelId: ends.kernelId, tail: 10 })).toEqual({
      text: 'last words\n',
      truncated: false,
    })
    expect(await manager.request('destroy_kernel', { kernelId: ends.kernelId, graceMs: 0 })).toEqual({
      exitCode: 3,
      logTail: 'last words\n',
    })
  })

  test('a session runs in an image without a shell and without a libc, and has SSH there', async () => {
    const spec = aKernelSpec({ image: { reference: TINY_IMAGE, digest: '' } })
    const { containerId, ssh } = await create(spec)
    await manager.request('start_app', { kernelId: spec.kernelId, app: 'sshd', timeoutMs: 20_000 })
    const hostKey = ssh.hostKey.split(' ')[1]!
    const target = { address: await addressOf(containerId), privateKey: ssh.privateKey, hostKey }
    expect(await sshExec(target, 'pwd; id -un')).toBe('/home/work\nwork\n')
  })

  test('a repeated request creates a session once', async () => {
    const spec = aKernelSpec()
    const [first, second] = await Promise.all([create(spec), create(spec)])
    expect(second).toEqual(first)
    expect(await create(spec)).toEqual(first)
    expect((await leftovers()).containers).toBe(1)
  })

  test('a later attempt replaces the earlier one', async () => {
    const spec = aKernelSpec()
    const first = await create(spec)
    const second = await create({ ...spec, attempt: 2 })
    expect(second.containerId).not.toBe(first.containerId)
    expect((await leftovers()).containers).toBe(1)
    await expect(create(spec)).rejects.toMatchObject({ code: 'kernel_create_failed' })
  })

  test('a session whose container somebody removes is reported as gone', async () => {
    const spec = aKernelSpec()
    const { containerId } = await create(spec)
    await docker.getContainer(containerId).remove({ force: true })
    await expect.poll(() => manager.kernel(spec.kernelId)?.state).toEqual({ state: 'gone' })
    expect(await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0 })).toEqual({
      exitCode: null,
      logTail: '',
    })
    expect(await leftovers()).toEqual(NOTHING)
  })

  test('a session is measured once a second', async () => {
    const spec = aKernelSpec({ startupCommand: 'while :; do :; done' })
    await create(spec)
    const latest = () => manager.stats.at(-1)?.kernels.find(entry => entry.kernelId === spec.kernelId)?.stats
    // The limit is half a core. A busy machine gives less; an idle session uses almost nothing.
    await expect.poll(() => latest()?.cpuMilli).toBeGreaterThan(50)
    expect(latest()?.cpuMilli).toBeLessThan(750)
    expect(latest()?.memBytes).toBeGreaterThan(0)
    expect(latest()?.netRxBytes).toBeGreaterThanOrEqual(0)
  })
})

describe('an app', () => {
  const app = (changes: Partial<KernelApp>): KernelApp => ({
    name: 'web',
    title: 'Web',
    protocol: 'http',
    path: '/',
    port: 8080,
    command: ['httpd', '-f', '-p', '127.0.0.1:{port}', '-h', '/home/work'],
    environ: {},
    secret: 'none',
    ...changes,
  })

  test('an app starts once for all callers, with a secret that stays, and again after it died', async () => {
    const image = await imageWith(app({ secret: 'jupyter', environ: { TOKEN: '{secret}' } }))
    const spec = aKernelSpec({ image })
    const { containerId } = await create(spec)
    const start = () => manager.request('start_app', { kernelId: spec.kernelId, app: 'web', timeoutMs: 10_000 })
    const [first, second] = await Promise.all([start(), start()])
    expect(first.inject?.header).toBe('authorization')
    expect(first.inject?.value).toMatch(/^token [0-9a-f]{48}$/)
    expect(second).toEqual(first)
    const servers = async () =>
      (await execIn(containerId, 'ps')).stdout.split('\n').filter(line => line.includes('httpd -f'))
    expect(await servers()).toHaveLength(1)
    const pid = (await servers())[0]!.trim().split(' ')[0]!
    expect((await execIn(containerId, 'sh', '-c', `cat /proc/${pid}/environ`)).stdout).toContain(
      `TOKEN=${first.inject!.value.slice('token '.length)}`,
    )
    await execIn(containerId, 'kill', '-9', pid)
    await expect.poll(servers).toHaveLength(0)
    expect(await start()).toEqual(first)
    expect(await servers()).toHaveLength(1)
  })

  test('an app starts again with other options, keeps running with the same ones, and refuses options that its image does not allow', async () => {
    const allowedOptions = { arguments: ['-r', '-v'], environment: ['MODE'], defaults: { '-r': 'first' } }
    const spec = aKernelSpec({ image: await imageWith(app({ allowedOptions })) })
    const { containerId } = await create(spec)
    const start = (options?: AppOptions) =>
      manager.request('start_app', { kernelId: spec.kernelId, app: 'web', timeoutMs: 10_000, options })
    const servers = async () => {
      const { stdout } = await execIn(containerId, 'sh', '-c', 'ps -o pid,args | grep "[h]ttpd -f"')
      return stdout.trim().split('\n')
    }
    await start()
    expect(await servers()).toEqual([expect.stringMatching(/-r first$/)])
    const options = { arguments: { '-r': 'second', '-v': '' }, environment: { MODE: 'x' } }
    await start(options)
    const [second, ...more] = await servers()
    expect([second, more]).toEqual([expect.stringMatching(/-r second -v$/), []])
    const pid = second!.trim().split(' ')[0]!
    expect((await execIn(containerId, 'sh', '-c', `cat /proc/${pid}/environ`)).stdout).toContain('MODE=x')
    await Promise.all([start(options), start()])
    await expect(start({ arguments: { '-p': '1' }, environment: {} })).rejects.toMatchObject({
      code: 'app_option_refused',
    })
    expect(await servers()).toEqual([second])
  })

  test('an app that does not start fails with the end of its output', async () => {
    const spec = aKernelSpec({ image: await imageWith(app({ command: ['sh', '-c', 'echo no licence; exit 7'] })) })
    await create(spec)
    const start = manager.request('start_app', { kernelId: spec.kernelId, app: 'web', timeoutMs: 10_000 })
    await expect(start).rejects.toMatchObject({
      code: 'app_failed',
      detail: { why: 'The app ended with exit code 7. The end of its output: no licence' },
    })
    const unknown = manager.request('start_app', { kernelId: spec.kernelId, app: 'nope', timeoutMs: 10_000 })
    await expect(unknown).rejects.toMatchObject({ code: 'app_not_found' })
  })
})

describe('a session that cannot start', () => {
  test.each([
    ['an image nobody has', { image: { reference: 'registry.invalid/none:1', digest: '' } }, 'image_not_found'],
    ['more cores than there are', { slots: { cpu: 1_000_000, mem: 2 ** 27 } }, 'request_too_large'],
    [
      'a GPU the engine cannot give',
      { devices: [{ uuid: 'GPU-none', slot: 'cuda.device', amount: 1 }] },
      'kernel_create_failed',
    ],
  ])('a session that cannot start because of %s leaves nothing behind', async (_what, changes, code) => {
    await expect(create(aKernelSpec(changes))).rejects.toMatchObject({ code })
    expect(await leftovers()).toEqual(NOTHING)
    await expect.poll(() => manager.report?.kernels).toEqual([])
  })

  test('a session that cannot start in time is undone before the reply', async () => {
    const created = create(aKernelSpec(), 60)
    await expect(created).rejects.toMatchObject({ code: 'kernel_create_failed' })
    expect(await leftovers()).toEqual(NOTHING)
  })

  test('a session of which no manager hears in time is undone; others continue', async () => {
    const heard = aKernelSpec()
    const withinMs = 5_000
    await create(heard, withinMs)
    await expect.poll(() => manager.kernel(heard.kernelId)?.state.state).toBe('running')
    create(aKernelSpec(), withinMs).catch(() => undefined)
    manager.refuse('unavailable')
    manager.hangUp()
    await expect.poll(async () => (await leftovers()).containers).toBe(2)
    await expect.poll(leftovers).toEqual({ containers: 1, networks: 1, volumes: 1, control: 1 })
    manager.refuse(undefined)
    await expect.poll(() => manager.connected).toBe(true)
    await expect.poll(() => manager.report?.kernels).toMatchObject([{ kernelId: heard.kernelId }])
  })

  describe.each([
    ['at once', () => Promise.resolve()],
    ['when its home is there', (kernelId: string) => expect.poll(homes, { interval: 5 }).toContain(kernelId)],
  ])('%s', (_when, moment) => {
    test('a start is undone because the session was terminated meanwhile', async () => {
      const spec = aKernelSpec()
      const created = create(spec)
      created.catch(() => undefined)
      await moment(spec.kernelId)
      await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0 })
      await expect(created).rejects.toMatchObject({ code: 'kernel_create_failed' })
      expect(await leftovers()).toEqual(NOTHING)
      expect(await homes()).not.toContain(spec.kernelId)
    })

    test('a start is undone because the manager gave up', async () => {
      const cancel = new AbortController()
      const spec = aKernelSpec()
      const created = manager.request('create_kernel', { spec, startWithinMs: 60_000 }, cancel.signal)
      created.catch(() => undefined)
      await moment(spec.kernelId)
      cancel.abort()
      await expect(created).rejects.toMatchObject({ code: 'kernel_create_failed' })
      expect(await leftovers()).toEqual(NOTHING)
      expect(await homes()).not.toContain(spec.kernelId)
    })
  })
})

describe('sessions side by side', () => {
  test('sessions reach neither each other nor the host, but the outside', async () => {
    const serving = () => aKernelSpec({ startupCommand: 'httpd -f -p 8080' })
    const [one, two] = await Promise.all([create(serving()), create(serving())])
    const target = await addressOf(two.containerId)
    // This machine may dial it, as the agent does.
    await expect.poll(() => canDial(target, 8080)).toBe(true)
    const reach = (host: string, port: number) =>
      execIn(one.containerId, 'nc', '-w', '2', host, String(port), '-e', 'true').then(result => result.exitCode === 0)
    await expect.poll(() => reach('127.0.0.1', 8080)).toBe(true)
    expect(await reach(target, 8080)).toBe(false)
    const { Gateway } = Object.values(
      (await docker.getContainer(one.containerId).inspect()).NetworkSettings.Networks,
    )[0]!
    const server = createServer().listen(0, '0.0.0.0')
    await once(server, 'listening')
    expect(await reach(Gateway, (server.address() as AddressInfo).port)).toBe(false)
    server.close()
    expect(await reach('169.254.169.254', 80)).toBe(false)
    expect(manager.report?.network).toEqual({ isolation: 'full', reason: null, problem: null, restricts: true })
  })

  test('each session has a bridge of its own, in the range of the agent', async () => {
    const created = await Promise.all(Array.from({ length: 4 }, () => create()))
    const addresses = await Promise.all(created.map(({ containerId }) => addressOf(containerId)))
    // A /28 each: the first 28 bits differ.
    const subnets = addresses.map(address => {
      const octets = address.split('.').map(Number)
      return octets.with(3, octets[3]! >> 4).join('.')
    })
    expect(new Set(subnets).size).toBe(4)
    for (const address of addresses) expect(address).toMatch(/^10\.213\./)
  })
})

function canDial(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, timeout: 2000 })
    const done = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
    socket.once('timeout', () => done(false))
  })
}
