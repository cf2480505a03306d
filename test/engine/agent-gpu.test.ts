import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { because } from '#manager/contract'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { busyboxImage, docker, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

// The agent's process, its engine and the protocol are real; `nvidia-smi` is a script with the output of driver 550. NVIDIA's hook is in
// the agent's PATH, but unknown to the engine: GPUs are reported, but cannot be used.
const T4 = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const A100 = 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'
const MIG = 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f'

let manager: FakeManager
let home: AgentHome
let agent: AgentProcess
let program: string
let hook: string

const says = async (query: string) => {
  await writeFile(
    program,
    `#!/bin/sh
case "$*" in
  memory-limits*) echo 'Invalid combination of input arguments. Please run nvidia-smi -h for help.'; exit 2 ;;
  *-L*) echo 'GPU 0: Tesla T4 (UUID: ${T4})'
    echo 'GPU 1: NVIDIA A100-SXM4-40GB (UUID: ${A100})'
    echo '  MIG 3g.20gb     Device  0: (UUID: ${MIG})' ;;
  *-q*-x*) echo '<gpu id="1"><mig_devices><mig_device><index>0</index><fb_memory_usage><total>19968 MiB</total>'
    echo '<used>12 MiB</used></fb_memory_usage></mig_device></mig_devices><uuid>${A100}</uuid></gpu>' ;;
  --query-compute-apps*) cat "$0.apps" ;;
  'pmon -i ${T4} '*) cat "$0.use" ;;
  *) ${query} ;;
esac
`,
  )
  await chmod(program, 0o755)
}
const HEALTHY = `echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4'
    echo '${A100}, 40960, Enabled, 0, [N/A], [N/A], NVIDIA A100-SXM4-40GB'`
const LOST = `case "$*" in
    *-i*${T4}*) echo 'Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU'; exit 15 ;;
    *-i*) echo '${A100}, 40960, Enabled, 0, [N/A], [N/A], NVIDIA A100-SXM4-40GB' ;;
    *) echo 'Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU'; exit 15 ;;
  esac`

beforeAll(async () => {
  await busyboxImage()
  manager = await startFakeManager()
  home = await createAgentHome()
  const bin = join(home.data, 'bin')
  await mkdir(bin, { recursive: true })
  program = join(bin, 'nvidia-smi')
  await says(HEALTHY)
  hook = join(bin, 'nvidia-container-runtime-hook')
  await writeFile(hook, '#!/bin/sh\n', { mode: 0o755 })
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join(), PATH: `${bin}:${process.env.PATH ?? ''}` })
  await agent.firstLine
})
afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  await home[Symbol.asyncDispose]()
})

const devices = () =>
  manager.report?.devices.map(({ uuid, slot, mode, isolation, problem }) => [uuid, slot, mode, isolation, problem])

test('GPUs and MIG instances of the host are reported with their figures', () => {
  expect(devices()).toEqual([
    [T4, 'cuda.device', 'whole', 'whole', null],
    [MIG, 'cuda.device', 'mig', 'mig', null],
  ])
  expect(manager.report?.devices[1]?.memBytes).toBe(19968 * 2 ** 20)
  expect(manager.report?.deviceFigures).toEqual([
    { uuid: T4, utilization: 37, memBytes: 2 ** 30 },
    { uuid: MIG, utilization: null, memBytes: 12 * 2 ** 20 },
  ])
})

test('a GPU that the manager shares is probed, and counts as guarded if the driver has no limits', async () => {
  await manager.request('set_device_modes', { modes: { [T4]: 'shared', [MIG]: 'shared' } })
  await expect.poll(devices).toEqual([
    [T4, 'cuda.shares', 'shared', 'guarded', null],
    [MIG, 'cuda.device', 'mig', 'mig', null],
  ])
  await expect.poll(() => manager.report?.devices[0]?.isolationReason).toMatch(/nvidia-smi memory-limits|cgroups v2/)
  await manager.request('set_device_modes', { modes: { [T4]: 'whole' } })
  await expect.poll(() => devices()?.[0]?.[2]).toBe('whole')
})

const onT4 = () => aKernelSpec({ devices: [{ uuid: T4, slot: 'cuda.device', amount: 1 }] })
const start = (spec = onT4()) => manager.request('create_kernel', { spec, startWithinMs: 30_000 })

test('a lost GPU becomes a problem, and the other one does not', async () => {
  await says(LOST)
  await expect.poll(devices).toEqual(
    expect.arrayContaining([
      [T4, 'cuda.device', 'whole', 'whole', expect.stringContaining('GPU is lost')],
      [MIG, 'cuda.device', 'mig', 'mig', null],
    ]),
  )
  await says(HEALTHY)
  await expect.poll(() => devices()?.every(device => device[4] === null)).toBe(true)
})

test('an engine that starts nothing with a GPU is a problem of that GPU, and nothing of the session is left', async () => {
  await expect(start()).rejects.toMatchObject({ code: 'kernel_create_failed', detail: because('host_gpu_failed') })
  await expect.poll(() => manager.report?.kernels).toEqual([])
  const problem = expect.stringContaining('could not select device driver') as string
  await expect.poll(() => devices()?.map(device => device[4])).toEqual([problem, null])
})

test('GPUs that the engine cannot hand out are problems, and are handed out by no start', async () => {
  await rm(hook)
  const problem = expect.stringContaining('The engine cannot hand out GPUs') as string
  await expect.poll(() => devices()?.map(device => device[4])).toEqual([problem, problem])
  await expect(start()).rejects.toMatchObject({
    code: 'kernel_create_failed',
    detail: { cause: 'engine_without_gpus' },
  })
})

/** With an engine that uses CDI, such as those of `npm run test:engines`; the devices are /dev/null. */
describe('by CDI', () => {
  let specs: string | undefined

  beforeAll(async () => {
    const { CDISpecDirs } = (await docker.info()) as { CDISpecDirs?: string[] | null }
    // Only with its own files: the tests must not use those of a machine.
    specs = CDISpecDirs?.find(directory => !/^(\/etc|\/var\/run|\/run)\//.test(directory))
  })
  beforeEach(({ skip }) => skip(specs === undefined, 'this engine does not use CDI'))
  afterAll(() => specs && rm(join(specs, 'berth-test.json'), { force: true }))

  /** Writes the engine's file. In a container, nvidia-smi lists the GPU with the second name of each device. */
  async function engineKnows(...known: readonly (readonly [name: string, uuid: string])[]): Promise<void> {
    const tools = join(home.data, 'tools')
    await mkdir(tools, { recursive: true })
    const devices = await Promise.all(
      known.map(async ([name, uuid], index) => {
        const smi = join(tools, `smi-${uuid}`)
        await writeFile(smi, `#!/bin/sh\necho 'GPU 0: Tesla T4 (UUID: ${uuid})'\n`, { mode: 0o755 })
        const mounts = [{ hostPath: smi, containerPath: '/usr/bin/nvidia-smi', options: ['ro', 'bind'] }]
        return {
          name,
          containerEdits: { deviceNodes: [{ path: `/dev/nvidia${index}`, hostPath: '/dev/null' }], mounts },
        }
      }),
    )
    const spec = { cdiVersion: '0.6.0', kind: 'nvidia.com/gpu', devices }
    await writeFile(join(specs ?? '', 'berth-test.json'), JSON.stringify(spec))
  }

  /** GPU devices in a started session, and its variable. */
  async function looksInside(spec = onT4()): Promise<string[]> {
    const { containerId } = await start(spec)
    const { Config, HostConfig } = await docker.getContainer(containerId).inspect()
    const exec = await docker.getContainer(containerId).exec({ Cmd: ['ls', '/dev'], AttachStdout: true, Tty: true })
    const chunks: Buffer[] = []
    for await (const chunk of await exec.start({ Tty: true })) chunks.push(chunk as Buffer)
    await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0, attempt: 1 })
    return [
      ...(HostConfig.DeviceRequests ?? []).flatMap(({ DeviceIDs = [] }) => DeviceIDs),
      ...Buffer.concat(chunks)
        .toString()
        .split(/\s+/)
        .filter(name => name.startsWith('nvidia')),
      ...Config.Env.filter(line => line.startsWith('NVIDIA_VISIBLE')),
    ]
  }

  test('a session gets its GPU by UUID, and no other', async () => {
    await engineKnows([A100, A100], [T4, T4], ['0', T4], ['all', T4])
    await expect.poll(() => looksInside()).toEqual([`nvidia.com/gpu=${T4}`, 'nvidia1', 'NVIDIA_VISIBLE_DEVICES=void'])
    expect(await looksInside(aKernelSpec())).toEqual(['NVIDIA_VISIBLE_DEVICES=void'])
  })

  test('two sessions on one GPU have figures of their own, by the control groups of their processes', async () => {
    await manager.request('set_device_modes', { modes: { [T4]: 'shared' } })
    await expect.poll(() => devices()?.[0]?.[2]).toBe('shared')
    const part = (amount: number) => aKernelSpec({ devices: [{ uuid: T4, slot: 'cuda.shares', amount }] })
    const specs = [part(25), part(50)]
    const pids: number[] = []
    for (const spec of specs) {
      const { containerId } = await start(spec)
      pids.push((await docker.getContainer(containerId).inspect()).State.Pid)
    }
    const [first = 0, second = 0] = pids
    const head = '# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command'
    await writeFile(`${program}.use`, `${head}\n0 ${first} C 30 9 - - - - python3\n0 ${second} C 7 9 - - - - python3\n`)
    await writeFile(`${program}.apps`, `${T4}, ${first}, 300\n${T4}, ${second}, 700\n${T4}, ${process.pid}, 24\n`)
    const last = () =>
      specs.map(({ kernelId }) => {
        const all = manager.stats.flatMap(({ kernels }) => kernels.filter(one => one.kernelId === kernelId))
        return all.at(-1)?.stats.gpus
      })
    const device = { utilization: 37, memBytes: 2 ** 30, totalBytes: 15_360 * 2 ** 20 }
    await expect
      .poll(last)
      .toEqual([
        [{ uuid: T4, utilization: 30, memBytes: 300 * 2 ** 20, device }],
        [{ uuid: T4, utilization: 7, memBytes: 700 * 2 ** 20, device }],
      ])
    for (const { kernelId } of specs) await manager.request('destroy_kernel', { kernelId, graceMs: 0, attempt: 1 })
    await manager.request('set_device_modes', { modes: { [T4]: 'whole' } })
    await expect.poll(() => devices()?.[0]?.[2]).toBe('whole')
  })

  test('a session that takes more than its share is warned and ended, and the other on the GPU goes on', async () => {
    await manager.request('set_device_modes', { modes: { [T4]: 'shared' } })
    await expect.poll(() => devices()?.[0]?.[2]).toBe('shared')
    const part = (amount: number) => aKernelSpec({ devices: [{ uuid: T4, slot: 'cuda.shares', amount }] })
    const [greedy, modest] = [part(25), part(50)]
    const pidOf = async (spec: typeof greedy) => {
      const { containerId } = await start(spec)
      return (await docker.getContainer(containerId).inspect()).State.Pid
    }
    await writeFile(`${program}.apps`, '')
    await writeFile(`${program}.use`, '')
    const [first, second] = [await pidOf(greedy), await pidOf(modest)]
    await writeFile(`${program}.apps`, `${T4}, ${first}, 9000\n${T4}, ${second}, 700\n${T4}, ${process.pid}, 5000\n`)
    await expect
      .poll(() => manager.kernel(greedy.kernelId)?.state)
      .toMatchObject({
        state: 'exited',
        stopped: {
          code: 'gpu_limit',
          cause: 'gpu_share_passed',
          values: { used: '8.8 GiB', share: '3.8 GiB' },
        },
      })
    expect(manager.kernel(modest.kernelId)?.state.state).toBe('running')
    const warnings = manager.notices.flatMap(({ kernel, warning }) =>
      warning ? [[kernel.kernelId, warning.cause]] : [],
    )
    expect(warnings).toEqual([[greedy.kernelId, 'gpu_share_warned']])
    for (const { kernelId } of [greedy, modest])
      await manager.request('destroy_kernel', { kernelId, graceMs: 0, attempt: 1 })
    await manager.request('set_device_modes', { modes: { [T4]: 'whole' } })
    await expect.poll(() => devices()?.[0]?.[2]).toBe('whole')
  })

  test('a GPU that the engine does not list any more is a problem of that GPU', async () => {
    await engineKnows([T4, T4])
    const problem = expect.stringContaining('this GPU') as string
    await expect.poll(() => devices()?.map(device => device[4])).toEqual([null, problem])
  })

  test('a file of CDI that names what is not there is a problem of its GPU until it is made again', async () => {
    const gone = join(home.data, 'tools', `smi-${T4}`)
    await engineKnows([T4, T4])
    await rm(gone)
    await expect(start()).rejects.toMatchObject({ detail: because('host_gpu_failed') })
    await expect.poll(() => devices()?.[0]?.[4]).toContain('Docker starts no container with this GPU')
    await engineKnows([T4, T4])
    await expect.poll(() => devices()?.[0]?.[4]).toBeNull()
    await expect.poll(() => looksInside()).toEqual([`nvidia.com/gpu=${T4}`, 'nvidia0', 'NVIDIA_VISIBLE_DEVICES=void'])
  })

  test('by an index a session starts only if it got the GPU that was meant', async () => {
    await engineKnows(['0', T4])
    await expect.poll(() => looksInside()).toEqual(['nvidia.com/gpu=0', 'nvidia0', 'NVIDIA_VISIBLE_DEVICES=void'])
    await engineKnows(['0', A100])
    await expect(start()).rejects.toMatchObject({ detail: { cause: 'gpu_index_moved' } })
    await expect.poll(() => manager.report?.kernels).toEqual([])
  })
})
