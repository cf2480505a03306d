import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type GpuFinder } from './gpu-plugin.ts'
import { createNvidiaGpus, readGpuIndexes } from './nvidia.ts'
import { createSimulatedGpus, parseSimulatedGpus } from './simulated.ts'

const T4 = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const A100 = 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'
const GiB = 2 ** 30
const MiB = 2 ** 20
/** Never aborted. */
const { signal } = new AbortController()

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-gpu-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** A stand-in for nvidia-smi: its arguments are `$*`. */
async function nvidiaSmi(script: string): Promise<{ program: string; procDirectory: string; kernelLog: string }> {
  const program = join(directory, 'nvidia-smi')
  await writeFile(program, `#!/bin/sh\n${script}\n`)
  await chmod(program, 0o755)
  return { program, procDirectory: join(directory, 'gpus'), kernelLog: join(directory, 'kmsg') }
}

const HEALTHY = `case "$*" in
  *-L*) echo 'GPU 0: Tesla T4 (UUID: ${T4})'
    echo 'GPU 1: NVIDIA A100-SXM4-40GB (UUID: ${A100})'
    echo '  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)'
    echo '  MIG 1g.5gb      Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)' ;;
  *-q*-x*) echo '<gpu id="1"><mig_devices><mig_device><index>1</index><fb_memory_usage><total>4864 MiB</total><used>12 MiB</used>'
    echo '</fb_memory_usage></mig_device></mig_devices><uuid>${A100}</uuid></gpu>' ;;
  *) echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4'
    echo '${A100}, 40960, Enabled, 0, [N/A], [N/A], NVIDIA A100-SXM4-40GB' ;;
esac`

test('whole GPUs are offered by UUID, a GPU in MIG mode by its instances; their use is unknown, not 0', async () => {
  const gpus = createNvidiaGpus(await nvidiaSmi(HEALTHY))
  const { gpus: found, figures } = await gpus.probe(signal)
  expect(found.map(({ uuid, model, memBytes, mode }) => [uuid.slice(0, 8), model, memBytes / MiB, mode])).toEqual([
    ['GPU-5f1c', 'Tesla T4', 15360, 'whole'],
    ['MIG-c6d4', 'NVIDIA A100-SXM4-40GB 3g.20gb', 20 * 1024, 'mig'],
    ['MIG-cba6', 'NVIDIA A100-SXM4-40GB 1g.5gb', 4864, 'mig'],
  ])
  const expected = [
    { uuid: T4, utilization: 37, memBytes: GiB },
    { uuid: 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f', utilization: null, memBytes: null },
    { uuid: 'MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb', utilization: null, memBytes: 12 * MiB },
  ]
  expect(figures).toEqual(expected)
  expect(await gpus.figures(signal)).toEqual(expected)
})

test('the configuration names GPUs that are shared at first; never one in MIG mode', async () => {
  const modes = async (...shared: string[]) => {
    const { gpus } = await createNvidiaGpus({ ...(await nvidiaSmi(HEALTHY)), shared: new Set(shared) }).probe(signal)
    return gpus.map(gpu => gpu.mode)
  }
  expect(await modes('all')).toEqual(['shared', 'mig', 'mig'])
  expect(await modes(T4)).toEqual(['shared', 'mig', 'mig'])
  expect(await modes(A100)).toEqual(['whole', 'mig', 'mig'])
})

test('if a lost GPU makes nvidia-smi fail for all, only the lost GPU becomes a problem', async () => {
  const two = `echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4'; echo '${A100}, 40960, Disabled, 0, 0, 1, NVIDIA A100'`
  const options = await nvidiaSmi(two)
  const gpus = createNvidiaGpus(options)
  await gpus.probe(signal)
  await nvidiaSmi(`case "$*" in
    *${T4}*) echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4' ;;
    *) echo 'Unable to determine the device handle for gpu 0000:05:00.0: GPU is lost.  Reboot the system to recover this GPU'; exit 15 ;;
  esac`)
  const problems = async () => (await gpus.probe(signal)).gpus.map(({ uuid, problem }) => [uuid, problem?.why ?? null])
  const lost = [
    [T4, null],
    [A100, expect.stringContaining('GPU is lost.  Reboot the system')],
  ]
  expect(await problems()).toEqual(lost)
  // An agent that starts later also reports the lost GPU, known from the kernel module.
  for (const [bus, uuid] of [['0000:05:00.0', A100] as const, ['0000:06:00.0', T4] as const]) {
    await mkdir(join(options.procDirectory, bus), { recursive: true })
    await writeFile(join(options.procDirectory, bus, 'information'), `Model: \t NVIDIA\nGPU UUID: \t ${uuid}\n`)
  }
  const after = (await createNvidiaGpus(options).probe(signal)).gpus.map(({ uuid, problem }) => [
    uuid,
    problem?.why ?? null,
  ])
  expect(after.toSorted()).toEqual(lost.toSorted())
  await nvidiaSmi(two)
  expect(await problems()).toEqual([
    [T4, null],
    [A100, null],
  ])
})

test('if the driver stops answering, all devices stay listed with the problem', async () => {
  const gpus = createNvidiaGpus(await nvidiaSmi(HEALTHY))
  await gpus.probe(signal)
  await nvidiaSmi(`echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >&2; exit 9`)
  const { gpus: found, figures } = await gpus.probe(signal)
  expect(found.map(({ uuid }) => uuid.slice(0, 8)).toSorted()).toEqual(['GPU-5f1c', 'MIG-c6d4', 'MIG-cba6'])
  for (const { problem } of found) expect(problem?.why).toContain("couldn't communicate")
  expect(figures).toEqual([])
})

test('a fatal Xid in the kernel log is a problem of a GPU that nvidia-smi calls healthy', async () => {
  const options = await nvidiaSmi(HEALTHY)
  for (const [bus, uuid] of [['0000:3b:00.0', T4] as const, ['0000:af:00.0', A100] as const]) {
    await mkdir(join(options.procDirectory, bus), { recursive: true })
    await writeFile(join(options.procDirectory, bus, 'information'), `Model: \t NVIDIA\nGPU UUID: \t ${uuid}\n`)
  }
  const { kernelLog } = options
  await writeFile(kernelLog, '')
  await using gpus = createNvidiaGpus(options)
  const problems = async () => (await gpus.probe(signal)).gpus.map(gpu => gpu.problem?.why ?? null)
  expect(await problems()).toEqual([null, null, null])
  await writeFile(
    kernelLog,
    `4,1,9000000000000000,-;NVRM: Xid (PCI:0000:af:00): 95, pid=7, name=x, Uncontained ECC error.\n`,
  )
  expect(await problems()).toEqual([null, ...Array<unknown>(2).fill(expect.stringContaining('Xid 95'))])
})

test('an instance that was removed on its host is gone', async () => {
  const gpus = createNvidiaGpus(await nvidiaSmi(HEALTHY))
  await gpus.probe(signal)
  await nvidiaSmi(HEALTHY.replace(/.*Device {2}0.*\n/, ''))
  expect((await gpus.probe(signal)).gpus.map(gpu => gpu.uuid.slice(0, 8))).toEqual(['GPU-5f1c', 'MIG-cba6'])
})

test('a hanging driver does not delay the end of the agent: its query process is killed', async () => {
  const options = await nvidiaSmi('echo $$ > "$0.pid"; exec sleep 60')
  const stop = new AbortController()
  const [probe, figures] = [
    createNvidiaGpus(options).probe(stop.signal),
    createNvidiaGpus(options).figures(stop.signal),
  ]
  const pidFile = `${options.program}.pid`
  await expect.poll(() => readFile(pidFile, 'utf8').catch(() => '')).not.toBe('')
  stop.abort()
  await expect(probe).rejects.toThrow('aborted')
  await expect(figures).rejects.toThrow('aborted')
  const pid = Number(await readFile(pidFile, 'utf8'))
  await expect.poll(() => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).toBe('')
})

const USE = `# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
# Idx           #    C/G      %      %      %      %      %      %    name
    0      48213     C     54     21      -      -      -      -    python3`

test('processes of shared GPUs come with their memory at once, and with their use as soon as it is known', async () => {
  const gpus = createNvidiaGpus(
    await nvidiaSmi(`case "$*" in
      --query-compute-apps*) echo '${T4}, 48213, 8310'; echo '${A100}, 50001, 12' ;;
      'pmon -i ${T4} -c 1 -s u') echo '${USE}' ;;
      *) echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4' ;;
    esac`),
  )
  await gpus.probe(signal)
  const processes = async () => Object.fromEntries(await gpus.processes([T4, A100], signal))
  await expect.poll(processes).toEqual({ [T4]: [{ pid: 48_213, memBytes: 8310 * MiB, utilization: 54 }] })
  await gpus[Symbol.asyncDispose]()
})

test('a driver that does not tell the use of processes, or hangs over it, still tells their memory', async () => {
  const options = await nvidiaSmi(`case "$*" in
    --query-compute-apps*) echo '${T4}, 48213, 8310' ;;
    pmon*) exec sleep 60 ;;
    *) echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4' ;;
  esac`)
  const stop = new AbortController()
  const gpus = createNvidiaGpus(options)
  await gpus.probe(signal)
  for (let look = 0; look < 3; look++)
    expect((await gpus.processes([T4], stop.signal)).get(T4)).toEqual([
      { pid: 48_213, memBytes: 8310 * MiB, utilization: null },
    ])
  stop.abort()
  await gpus[Symbol.asyncDispose]()
})

test('a driver that does not list processes says nothing of its GPUs, which is not that they have none', async () => {
  const gpus = createNvidiaGpus(
    await nvidiaSmi(`case "$*" in
      --query-compute-apps*) echo 'Field "gpu_uuid" is not a valid field to query.'; exit 2 ;;
      *) echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4' ;;
    esac`),
  )
  await gpus.probe(signal)
  expect(await gpus.processes([T4], signal)).toEqual(new Map())
  await gpus[Symbol.asyncDispose]()
})

test.each(['nvidia', 'simulated'] as const)('the plugin %s answers for devices of its own only', async name => {
  const file = join(directory, 'gpus.toml')
  await writeFile(file, '[[gpu]]\nuuid = "SIM-0"\n')
  const smi = await nvidiaSmi(HEALTHY)
  await using plugin: GpuFinder = name === 'nvidia' ? createNvidiaGpus(smi) : createSimulatedGpus(file)
  const { gpus } = await plugin.probe(signal)
  const own = new Set(gpus.map(({ uuid }) => uuid))
  expect(plugin.name).toBe(name)
  expect(own.size).toBeGreaterThan(0)
  const told = [
    ...(await plugin.figures(signal)).map(({ uuid }) => uuid),
    ...(await plugin.processes(['GPU-of-nobody', ...own], signal)).keys(),
  ]
  for (const uuid of told) expect(own).toContain(uuid)
})

test('without a driver there are no devices', async () => {
  const gpus = createNvidiaGpus({ program: '/nonexistent/nvidia-smi', procDirectory: '/none', kernelLog: '/none' })
  expect(await gpus.probe(signal)).toEqual({ gpus: [], figures: [] })
  expect(await gpus.figures(signal)).toEqual([])
  expect(await gpus.processes([T4], signal)).toEqual(new Map())
})

test('simulated GPUs come from a file, and must have simulated UUIDs', async () => {
  expect(
    parseSimulatedGpus('[[gpu]]\nuuid = "SIM-0"\nmemory = "40g"\n[[gpu]]\nuuid = "SIM-1"\nmode = "shared"\n'),
  ).toEqual([
    {
      uuid: 'SIM-0',
      model: 'Simulated GPU',
      memBytes: 40 * GiB,
      mode: 'whole',
      sharedBecause: null,
      problem: null,
    },
    {
      uuid: 'SIM-1',
      model: 'Simulated GPU',
      memBytes: 16 * GiB,
      mode: 'shared',
      sharedBecause: null,
      problem: null,
    },
  ])
  expect(() => parseSimulatedGpus('[[gpu]]\nuuid = "GPU-0"\n')).toThrow(/SIM-/)
  await expect(createSimulatedGpus('/nonexistent').probe(signal)).rejects.toMatchObject({ code: 'config_invalid' })
})

test('indexes of GPUs and instances are read from the list, an instance with that of its GPU', async () => {
  const { program } = await nvidiaSmi(HEALTHY)
  expect(Object.fromEntries(await readGpuIndexes(program))).toEqual({
    [T4]: '0',
    [A100]: '1',
    'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f': '1:0',
    'MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb': '1:1',
  })
})

test('a GPU that the driver wants to be reset is a problem, and a row to be replaced a warning', async () => {
  const gpus = createNvidiaGpus(
    await nvidiaSmi(`case "$*" in
  *gpu_recovery_action*) echo '${T4}, Reset' ;;
  *remapped_rows*) echo '${T4}, 1, 0' ;;
  *retired_pages*|*clocks_*) echo 'Field is not a valid field to query.'; exit 2 ;;
  *) echo '${T4}, 15360, [N/A], 0, 37, 1024, Tesla T4' ;;
esac`),
  )
  const { gpus: found } = await gpus.probe(signal)
  expect(found).toMatchObject([
    { uuid: T4, problem: { cause: 'gpu_needs_recovery' }, warning: { cause: 'gpu_rows_pending' } },
  ])
  await gpus[Symbol.asyncDispose]()
})
