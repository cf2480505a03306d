import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type KernelSpec } from '#agent/contract'
import { clusterRoles, KernelId, SessionId } from '#manager/contract'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { addressOf, busyboxImage, docker, execIn, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

let manager: FakeManager
let home: AgentHome
let agent: AgentProcess

beforeAll(async () => {
  await busyboxImage()
  manager = await startFakeManager()
  home = await createAgentHome()
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join() })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})

afterEach(async () => {
  for (const { kernelId } of manager.report?.kernels ?? [])
    await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  await home[Symbol.asyncDispose]()
})

/** `nc` answers once per start, with the name of its kernel. */
const SERVE = 'while true; do echo "I am $BERTH_CLUSTER_ROLE" | /opt/berth/bin/busybox nc -l -p 4000; done'

function aCluster(size: number, changes: Partial<KernelSpec> = {}): KernelSpec[] {
  const sessionId = SessionId.parse(randomUUID())
  return clusterRoles(size).map(role =>
    aKernelSpec({
      sessionId,
      kernelId: KernelId.parse(randomUUID()),
      role,
      clusterSize: size,
      clusterSeed: `seed of ${sessionId}`,
      slots: { cpu: 100, mem: 32 * 2 ** 20 },
      startupCommand: SERVE,
      ...changes,
    }),
  )
}

const create = (specs: readonly KernelSpec[]) =>
  Promise.all(specs.map(spec => manager.request('create_kernel', { spec, startWithinMs: 60_000 })))
const filters = () => ({ label: [`berth.manager=${manager.managerId}`] })
const networks = async () => (await docker.listNetworks({ filters: filters() })).length
const say = (containerId: string, host: string) =>
  execIn(containerId, '/opt/berth/bin/busybox', 'timeout', '5', '/opt/berth/bin/busybox', 'nc', host, '4000')

describe('a session of three kernels', () => {
  test('its kernels reach each other by name on one network, and nobody reaches another session', async () => {
    const specs = aCluster(3)
    const containers = await create(specs)
    expect(await networks()).toBe(1)
    for (const from of containers) {
      for (const role of ['main1', 'sub1', 'sub2']) {
        await expect.poll(async () => (await say(from.containerId, role)).stdout).toBe(`I am ${role}\n`)
      }
    }
    const [main] = containers
    if (!main) throw new Error('no main kernel')
    const environment = (await execIn(main.containerId, 'env')).stdout
    expect(environment).toContain('BERTH_CLUSTER_SIZE=3\n')
    expect(environment).toContain('BERTH_CLUSTER_ROLE=main1\n')
    expect(environment).toContain('BERTH_CLUSTER_HOSTS=main1,sub1,sub2\n')
    expect((await execIn(main.containerId, '/opt/berth/bin/busybox', 'hostname')).stdout).toBe('main1\n')

    // By SSH without a password or a question, from the first moment on.
    const indexOf = (containerId: string, role: string) =>
      execIn(containerId, '/opt/berth/bin/ssh', role, 'echo $BERTH_CLUSTER_INDEX')
    const [, sub] = containers
    expect(await indexOf(main.containerId, 'sub2')).toEqual({ stdout: '2\n', exitCode: 0 })
    expect(await indexOf(sub?.containerId ?? '', 'main1')).toEqual({ stdout: '0\n', exitCode: 0 })
    expect((await execIn(main.containerId, 'cat', '/run/berth/hostfile')).stdout).toBe(
      'main1 slots=1\nsub1 slots=1\nsub2 slots=1\n',
    )

    const others = aCluster(2)
    const [stranger] = await create(others)
    if (!stranger) throw new Error('no stranger')
    expect(await networks()).toBe(2)
    // By its address, because names are those of the own session. From version 28 on, Docker drops traffic between networks before our
    // rules can refuse it.
    const address = await addressOf(main.containerId)
    const keys = ['-i', '/run/berth/id_cluster', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null']
    const { exitCode } = await execIn(
      stranger.containerId,
      '/opt/berth/bin/ssh',
      ...keys,
      '-p',
      '2222',
      address,
      'true',
    )
    expect(exitCode).toBe(255)
    expect((await say(stranger.containerId, address)).stdout).not.toContain('I am')
    expect((await say(stranger.containerId, 'sub2')).stdout).not.toContain('I am')
  })

  test('the network is removed with the last kernel, not before', async () => {
    const specs = aCluster(3)
    const [, second] = await create(specs)
    const [first, ...rest] = specs
    if (!first || !second) throw new Error('no kernels')
    await manager.request('destroy_kernel', { kernelId: first.kernelId, graceMs: 0 })
    expect(await networks()).toBe(1)
    await expect.poll(async () => (await say(second.containerId, 'sub2')).stdout).toBe('I am sub2\n')
    await Promise.all(rest.map(({ kernelId }) => manager.request('destroy_kernel', { kernelId, graceMs: 0 })))
    expect(await networks()).toBe(0)
  })

  test('if one kernel cannot start, the network of the others stays', async () => {
    const [main, sub] = aCluster(2)
    if (!main || !sub) throw new Error('no kernels')
    const broken = { ...sub, image: { reference: 'berth-test/missing:1', digest: `sha256:${'0'.repeat(64)}` } }
    const outcomes = await Promise.allSettled([create([main]), create([broken])])
    expect(outcomes.map(outcome => outcome.status)).toEqual(['fulfilled', 'rejected'])
    expect(await networks()).toBe(1)
    await create([{ ...sub, attempt: 2 }])
    expect(await networks()).toBe(1)
  })

  test('an agent that starts again adopts it with its network, and its kernels still reach each other', async () => {
    const specs = aCluster(2)
    const [main] = await create(specs)
    agent.kill('SIGKILL')
    await agent.exited
    agent = await spawnAgent(home, {})
    expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
    await expect.poll(() => manager.report?.kernels.filter(kernel => kernel.state.state === 'running').length).toBe(2)
    await expect.poll(async () => (await say(main?.containerId ?? '', 'sub1')).stdout).toBe('I am sub1\n')
    await Promise.all(specs.map(({ kernelId }) => manager.request('destroy_kernel', { kernelId, graceMs: 0 })))
    expect(await networks()).toBe(0)
  })
})
