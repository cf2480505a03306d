import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testSet } from '../../build/bootstrap/test-sets.ts'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

const run = promisify(execFile)

let manager: FakeManager
let home: AgentHome
const agents: AgentProcess[] = []

beforeAll(busyboxImage)

beforeEach(async () => {
  manager = await startFakeManager()
  home = await createAgentHome()
})

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  await home[Symbol.asyncDispose]()
})

/** Waits until the agent has seen everything on the engine. */
const looked = () => expect.poll(() => manager.report?.engine.reachable).toBe(true)

async function start(environment: Readonly<Record<string, string>> = {}, where = home): Promise<AgentProcess> {
  const agent = await spawnAgent(where, { BERTH_MANAGER_URL: manager.url, ...environment })
  agents.push(agent)
  return agent
}

const create = (spec = aKernelSpec()) => manager.request('create_kernel', { spec, startWithinMs: 60_000 })
const filters = () => ({ label: [`berth.manager=${manager.managerId}`] })
const containers = async () => (await docker.listContainers({ all: true, filters: filters() })).map(found => found.Id)
const networks = async () => (await docker.listNetworks({ filters: filters() })).length

describe('an agent', () => {
  test('an agent joins once with a token, and afterwards proves its own key', async () => {
    const first = await start({ BERTH_JOIN: manager.join() })
    const { agentId } = await first.firstLine
    await first[Symbol.asyncDispose]()
    const second = await start()
    expect(await second.firstLine).toEqual({ ready: 'agent', agentId })
    manager.hangUp()
    await expect.poll(() => manager.arrivals).toEqual(['join', 'prove', 'prove'])
    for (const file of ['key.pem', 'label.key', 'agent.json']) {
      expect((await stat(join(home.data, 'agent', file))).mode & 0o777).toBe(0o600)
    }
  })

  test('an agent with a used token is refused, with the reason', async () => {
    const join_ = manager.join()
    const first = await start({ BERTH_JOIN: join_ })
    await first.firstLine
    await using other = await createAgentHome()
    const second = await start({ BERTH_JOIN: join_ }, other)
    expect(await second.firstLine).toMatchObject({ error: { code: 'join_token_invalid' } })
    expect(await second.exited).toBe(1)
  })

  test('a revoked agent stops, and joins again with a new token', async () => {
    const agent = await start({ BERTH_JOIN: manager.join() })
    await agent.firstLine
    manager.refuse('agent_revoked')
    manager.hangUp()
    expect(await agent.exited).toBe(1)
    manager.refuse(undefined)
    const again = await start({ BERTH_JOIN: manager.join() })
    expect(await again.firstLine).toMatchObject({ ready: 'agent' })
  })

  test('an agent does not take over an engine on which another one has sessions', async () => {
    const first = await start({ BERTH_JOIN: manager.join() })
    await first.firstLine
    await create()
    await using other = await createAgentHome()
    const second = await spawnAgent(other, { BERTH_JOIN: manager.join(), BERTH_AGENT_CLAIM: home.claimVolume })
    agents.push(second)
    expect(await second.firstLine).toMatchObject({ error: { code: 'engine_already_managed' } })
    expect(await second.exited).toBe(1)
  })

  test('an agent without sessions stops when another one takes over its engine', async () => {
    const first = await start({ BERTH_JOIN: manager.join() })
    await first.firstLine
    await looked()
    await using otherManager = await startFakeManager()
    await using other = await createAgentHome()
    const second = await spawnAgent(other, { BERTH_JOIN: otherManager.join(), BERTH_AGENT_CLAIM: home.claimVolume })
    agents.push(second)
    expect(await second.firstLine).toMatchObject({ ready: 'agent' })
    await expect(manager.request('list_kernels', {})).rejects.toThrow()
    expect(await first.exited).toBe(1)
    expect(await otherManager.request('list_kernels', {})).toEqual({ kernels: [] })
  })

  test('an agent keeps its engine although somebody has pruned the volumes', async () => {
    const agent = await start({ BERTH_JOIN: manager.join() })
    await agent.firstLine
    await looked()
    await docker.getVolume(home.claimVolume).remove()
    await create()
    expect((await docker.getVolume(home.claimVolume).inspect()).Labels).toMatchObject({
      'berth.manager': manager.managerId,
    })
  })

  test('an agent without an engine continues to run, and reports that the engine is away', async () => {
    const agent = await start({ BERTH_JOIN: manager.join(), DOCKER_HOST: `unix://${home.data}/nothing.sock` })
    expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
    expect(manager.report?.engine).toEqual({ version: '', reachable: false, architectures: [] })
    await expect(create()).rejects.toMatchObject({ code: 'engine_unreachable' })
  })

  test('an agent reports its capacity, simulated GPUs and images', async () => {
    const gpus = join(home.data, 'gpus.toml')
    await writeFile(gpus, '[[gpu]]\nuuid = "SIM-0"\n[[gpu]]\nuuid = "SIM-1"\n')
    const agent = await start({ BERTH_JOIN: manager.join(), BERTH_SIMULATED_GPUS: gpus })
    await agent.firstLine
    await looked()
    expect(manager.report?.devices.map(({ uuid, mode }) => [uuid, mode])).toEqual([
      ['SIM-0', 'whole'],
      ['SIM-1', 'whole'],
    ])
    const { NCPU } = (await docker.info()) as { NCPU: number }
    expect(manager.report?.capacity.cpu).toBe(NCPU * 1000)
    const references = manager.report?.images?.flatMap(image => image.references)
    expect(references).toContain(BUSYBOX_IMAGE)
    expect(references?.some(reference => reference.startsWith('berth/toolbox'))).toBe(false)
    await docker.getImage(BUSYBOX_IMAGE).tag({ repo: 'berth-test/tagged', tag: '1' })
    const tagged = () => manager.report?.images?.some(image => image.references.includes('berth-test/tagged:1'))
    await expect.poll(tagged).toBe(true)
    await docker.getImage('berth-test/tagged:1').remove()
    await expect.poll(tagged).toBe(false)
  })
})

describe('after kill -9 of the agent', () => {
  test('a running session keeps its container and keys, and can be ended', async () => {
    const first = await start({ BERTH_JOIN: manager.join() })
    await first.firstLine
    const spec = aKernelSpec()
    const created = await create(spec)
    first.kill('SIGKILL')
    await first.exited
    const second = await start()
    await second.firstLine
    await looked()
    expect(manager.kernel(spec.kernelId)?.state).toMatchObject({ state: 'running', containerId: created.containerId })
    expect(await create(spec)).toEqual(created)
    expect(await containers()).toEqual([created.containerId])
    await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0 })
    expect([await containers(), await networks()]).toEqual([[], 0])
  })

  test('an end that nobody observed is reported with its exit code', async () => {
    const first = await start({ BERTH_JOIN: manager.join() })
    await first.firstLine
    const spec = aKernelSpec({ startupCommand: 'while [ ! -e /home/work/go ]; do sleep 0.1; done; exit 9' })
    await create(spec)
    first.kill('SIGKILL')
    await first.exited
    await writeFile(join(home.data, 'agent/scratch', spec.kernelId, 'go'), '')
    const [id] = await containers()
    await docker.getContainer(id!).wait()
    const second = await start()
    await second.firstLine
    await looked()
    expect(manager.kernel(spec.kernelId)?.state).toMatchObject({ state: 'exited', exitCode: 9, engineRestarted: false })
  })

  test.each(testSet(process.env) === 'all' ? [0, 40, 120, 250, 400] : [120])(
    'killed %i ms into a creation, nothing is duplicated and nothing is left over',
    async afterMs => {
      const first = await start({ BERTH_JOIN: manager.join() })
      await first.firstLine
      // So that the measured time is that of the creation itself.
      const warm = aKernelSpec()
      await create(warm)
      await manager.request('destroy_kernel', { kernelId: warm.kernelId, graceMs: 0 })
      const spec = aKernelSpec()
      create(spec).catch(() => undefined)
      await new Promise(resolve => setTimeout(resolve, afterMs))
      first.kill('SIGKILL')
      await first.exited
      const second = await start()
      await second.firstLine
      const found = manager.kernel(spec.kernelId)
      if (!found) {
        // Nothing of it may be left, because the manager may have placed it elsewhere.
        await expect.poll(containers).toEqual([])
        await expect.poll(networks).toBe(0)
        await expect.poll(() => readdir(join(home.data, 'agent/kernels'))).toEqual([])
      }
      const { containerId } = await create(spec)
      expect(await containers()).toEqual([containerId])
      expect(await networks()).toBe(1)
    },
  )

  test('a container with copied labels does not count as a session', async () => {
    const first = await start({ BERTH_JOIN: manager.join() })
    await first.firstLine
    const { containerId } = await create()
    const { Config } = await docker.getContainer(containerId).inspect()
    const forged = await docker.createContainer({
      Image: BUSYBOX_IMAGE,
      Cmd: ['sleep', '60'],
      Labels: { ...Config.Labels, 'berth.kernel': Config.Labels['berth.kernel']!.replace('user@', 'root@') },
    })
    await first[Symbol.asyncDispose]()
    const second = await start()
    await second.firstLine
    await looked()
    expect(manager.report?.kernels.map(kernel => kernel.state)).toMatchObject([{ state: 'running', containerId }])
    // The container is not removed either, because it is not ours.
    expect((await forged.inspect()).State.Status).toBe('created')
  })
})

test('homes are removed after their retention, also those with an overlong path', async () => {
  const scratch = join(home.data, 'agent/scratch')
  const old = [randomUUID(), randomUUID(), randomUUID()]
  for (const kernelId of old) {
    await mkdir(join(scratch, kernelId), { recursive: true })
    const deep = 'for i in $(seq 30); do mkdir "$0"; cd "$0"; done'
    await run('bash', ['-c', deep, 'long'.repeat(50)], { cwd: join(scratch, kernelId) })
    await utimes(join(scratch, kernelId), 0, 0)
  }
  const agent = await start({ BERTH_JOIN: manager.join() })
  await agent.firstLine
  await looked()
  await expect.poll(() => readdir(scratch)).toEqual([])
  const spec = aKernelSpec()
  await create(spec)
  await manager.request('list_kernels', {})
  expect(await readdir(scratch)).toEqual([spec.kernelId])
})

test('a full disk refuses sessions before anything is created', async () => {
  const scratch = join(home.data, 'small')
  await mkdir(scratch)
  await run('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', scratch])
  try {
    const agent = await start({ BERTH_JOIN: manager.join(), BERTH_AGENT_SCRATCH: scratch })
    await agent.firstLine
    await expect(create()).rejects.toMatchObject({ code: 'disk_full' })
    expect([await containers(), await networks()]).toEqual([[], 0])
  } finally {
    await run('umount', ['-l', scratch])
  }
})

test('a network range that the host uses is refused with the way out', async () => {
  const route = (await readFile('/proc/net/route', 'utf8')).split('\n').find(line => line.startsWith('docker0'))
  expect(route).toBeDefined()
  const { IPAM } = await docker.getNetwork('bridge').inspect()
  const taken = IPAM?.Config?.[0]?.Subnet ?? ''
  const agent = await start({ BERTH_JOIN: manager.join(), BERTH_AGENT_NETWORK_RANGE: taken })
  await agent.firstLine
  await expect(create()).rejects.toMatchObject({ code: 'network_range_taken' })
  // Rules for sessions do not cut off the other network either.
  await expect.poll(() => manager.report?.network.isolation).toBe('partial')
  expect(manager.report?.network.reason).toContain('docker0')
  // Reported before any session fails.
  expect(manager.report?.network.problem).toContain('docker0')
  expect((await run('iptables', ['-S'])).stdout).not.toMatch(`${taken} .*REJECT`)
})
