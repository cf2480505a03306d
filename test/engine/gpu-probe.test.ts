import { execFileSync } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createEngineClient } from '../../agent/docker/engine-client.ts'
import { createNvidiaLimits, type MemoryLimits } from '../../agent/gpu/memory-limits.ts'
import { nvidiaRequest } from '../../agent/gpu/nvidia-requests.ts'
import { createProbe, probeContainer, probeName } from '../../agent/gpu/probe.ts'
import { because } from '#manager/contract'
import { docker, madeContainer } from '../fixtures/docker.ts'
import { compileFakeCuda, type FakeCuda, type FakeDriver } from '../fixtures/fake-cuda.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'

const IMAGE = 'berth/python:3.13'
const UUID = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const gpu = {
  uuid: UUID,
  model: 'Fake',
  memBytes: 16 * 2 ** 30,
  mode: 'whole',
  sharedBecause: null,
  problem: null,
} as const

// There is no GPU where these tests run. The containers, the program in them and the order of events are real; the
// driver and nvidia-smi are FAKES (fixtures/fake-cuda.ts), so that the tests choose how the driver behaves.
const hasCompiler = (() => {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!hasCompiler)('a part of a GPU with a simulated driver', () => {
  let place: Awaited<ReturnType<typeof temporaryDirectory>>
  let fake: FakeCuda
  let limits: MemoryLimits
  beforeAll(async () => {
    place = await temporaryDirectory()
    fake = await compileFakeCuda(place.path)
    const [cgroupRoot, procDirectory] = [join(place.path, 'cgroup'), join(place.path, 'proc')]
    await mkdir(cgroupRoot)
    await writeFile(join(cgroupRoot, 'cgroup.controllers'), 'cpu dmem memory\n')
    const real = createNvidiaLimits({ program: fake.nvidiaSmi, cgroupRoot, procDirectory })
    limits = {
      ...real,
      async set(pid, ...what) {
        expect(pid).toBeGreaterThan(1)
        await mkdir(join(procDirectory, String(pid)), { recursive: true })
        await writeFile(join(procDirectory, String(pid), 'cgroup'), `0::/system.slice/docker-${pid}.scope\n`)
        await real.set(pid, ...what)
      },
    }
  })
  afterEach(async () => {
    await expect(docker.getContainer(probeName(UUID)).inspect()).rejects.toMatchObject({ statusCode: 404 })
  })
  afterAll(() => place[Symbol.asyncDispose]())

  const probe = (image = IMAGE, { signal } = new AbortController()) =>
    createProbe({
      engine: createEngineClient(process.env.DOCKER_HOST),
      limits,
      image,
      requests: { of: uuids => Promise.resolve(nvidiaRequest({ by: 'hook' }, uuids)) },
      container(request, name) {
        const { HostConfig, ...config } = probeContainer(request, name)
        const { DeviceRequests, ...host } = HostConfig ?? {}
        expect(DeviceRequests).toEqual([{ Driver: '', DeviceIDs: [UUID], Capabilities: [['gpu']] }])
        const Mounts = [
          { Type: 'bind' as const, Source: fake.library, Target: '/usr/lib/libcuda.so.1', ReadOnly: true },
          { Type: 'bind' as const, Source: fake.directory, Target: '/fake' },
        ]
        return { ...config, HostConfig: { ...host, Mounts } }
      },
    })(gpu, signal)

  test.each<[FakeDriver, string, RegExp]>([
    ['container', 'enforced', /refuses a session more memory than its share/],
    // As MPS limits do; see docs/adr/0014-gpu-parts.md.
    ['program', 'accounted', /several programs together got more/],
    ['ignored', 'accounted', /a program got more memory than its limit/],
    ['full', 'accounted', /no free memory, even without a limit/],
  ])('a driver that limits by %s makes the GPU count as %s', async (behaviour, isolation, reason) => {
    await fake.behave(behaviour)
    expect(await probe()).toMatchObject({ isolation, reason: { why: expect.stringMatching(reason) as string } })
  })

  test('the probe ends with the agent, and leaves nothing behind', async () => {
    await fake.behave('container')
    const stop = new AbortController()
    const probing = probe(IMAGE, stop)
    await vi.waitFor(() => docker.getContainer(probeName(UUID)).inspect(), 120_000)
    stop.abort()
    expect((await probing).isolation).toBe('accounted')
  })

  test('a driver without limits is not probed', async () => {
    await writeFile(join(fake.directory, 'unsupported'), '')
    expect(await probe()).toEqual({ isolation: 'accounted', reason: because('limits_need_driver') })
    await rm(join(fake.directory, 'unsupported'))
  })

  test('a GPU that cannot be probed counts as accounted, with the reason', async () => {
    await fake.behave('container')
    expect((await probe('berth-test/no-such:1')).reason.why).toContain('berth-test/no-such:1 is not on this host')
    const { reason } = await probe('berth/toolbox:latest')
    expect(reason.why).toMatch(/could not be tested/)
  })

  test('only containers left by a crash are removed, whatever labels an image has', async () => {
    const { HostConfig: _, ...left } = probeContainer(nvidiaRequest({ by: 'hook' }, [UUID]), IMAGE)
    await docker.createContainer(left)
    await using _other = await madeContainer({ Image: IMAGE, Labels: { 'berth.gpu-probe': UUID } })
    await fake.behave('container')
    expect((await probe()).isolation).toBe('enforced')
  })
})
