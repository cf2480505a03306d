import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createNvidiaLimits, parseMemoryLimits } from './memory-limits.ts'

const MiB = 2 ** 20
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-limits-'))
  await mkdir(join(directory, 'cgroup'))
  await mkdir(join(directory, 'proc/77'), { recursive: true })
  await writeFile(join(directory, 'cgroup/cgroup.controllers'), 'cpu dmem memory')
  await writeFile(join(directory, 'proc/77/cgroup'), '0::/system.slice/docker-abc.scope\n')
})
afterEach(() => rm(directory, { recursive: true }))

/** @param get what `--get` prints */
async function limitsWith(get: string) {
  const program = join(directory, 'nvidia-smi')
  await writeFile(program, `#!/bin/sh\necho "$*" >> ${directory}/calls\n[ "$2" = --get ] && printf '${get}'\nexit 0\n`)
  await chmod(program, 0o755)
  return createNvidiaLimits({ program, cgroupRoot: join(directory, 'cgroup'), procDirectory: join(directory, 'proc') })
}

// As in NVIDIA's documentation of R615.
const SAID = 'namespace: /sys/fs/cgroup/mygroup\\nsoft limit: 0 MiB\\nhard limit: 1228 MiB\\ncurrent used: 12 MiB\\n'

test('a limit is set on the control group of the container, for its GPU, and read back', async () => {
  const limits = await limitsWith(SAID)
  expect(await limits.missing()).toBeNull()
  await limits.set(77, 'GPU-1', 1228.8 * MiB)
  const where = `--namespace ${directory}/cgroup/system.slice/docker-abc.scope -i GPU-1`
  expect((await readFile(join(directory, 'calls'), 'utf8')).split('\n')).toEqual([
    'memory-limits --help',
    `memory-limits --set ${where} --soft-limit 0 --hard-limit 1228`,
    `memory-limits --get ${where}`,
    '',
  ])
})

test('a limit rounded up by the driver is accepted, a larger one is not', async () => {
  const set = async (hard: number) =>
    (await limitsWith(SAID.replace('1228', String(hard)))).set(77, 'GPU-1', 1228 * MiB)
  await set(1280)
  await expect(set(1484)).rejects.toThrow('reports 1484')
})

test('a limit that the driver did not take, or that is exceeded already, is refused', async () => {
  const set = async (get: string) => (await limitsWith(get)).set(77, 'GPU-1', 1228 * MiB)
  await expect(set(SAID.replace('1228', '80000'))).rejects.toThrow('the driver accepted 1228 MiB but reports 80000')
  await expect(set('hard limit: max\\n')).rejects.toThrow('reports no limit')
  await expect(set(SAID.replace('used: 12', 'used: 1300'))).rejects.toThrow('1300 MiB are already in use')
})

test('the root control group never gets a limit', async () => {
  const limits = await limitsWith(SAID)
  for (const text of ['0::/\n', '12:memory:/docker/abc\n']) {
    await writeFile(join(directory, 'proc/77/cgroup'), text)
    await expect(limits.set(77, 'GPU-1', MiB)).rejects.toThrow('no cgroup of its own')
  }
})

test('the reason names what lacks memory limits: the driver or the kernel', async () => {
  const none = createNvidiaLimits({ program: '/bin/false', cgroupRoot: join(directory, 'cgroup') })
  expect((await none.missing())?.why).toContain('R615')
  const old = createNvidiaLimits({ program: '/bin/true', cgroupRoot: directory })
  expect((await old.missing())?.why).toContain('cgroups v2')
})

test('limits are read in MiB; missing ones are unknown', () => {
  expect(parseMemoryLimits('soft limit: 4096 MiB\nhard limit: 8192 MiB\ncurrent used: 512 MiB\n')).toEqual({
    hard: 8192,
    used: 512,
  })
  expect(parseMemoryLimits('hard limit: max\n')).toEqual({ hard: undefined, used: undefined })
})
