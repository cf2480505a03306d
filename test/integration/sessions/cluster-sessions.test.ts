import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { KernelId, type Session, SessionId, type SessionStats } from '#manager/contract'
import { newId } from '../../../manager/store/new-id.ts'
import { gpus, hang, type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const kernelOf = (session: Session, role: string) => {
  const kernel = session.kernels.find(one => one.role === role)
  if (!kernel) throw new Error(`no kernel ${role}`)
  return kernel
}
const exitOf = (session: Session, role: string, exitCode: number, agent: ScriptedAgent) => {
  const { id, containerId } = kernelOf(session, role)
  const state = { state: 'exited', containerId: containerId ?? '', exitCode, oomKilled: false, engineRestarted: false }
  agent.change(id, state as Parameters<ScriptedAgent['change']>[1])
}
const threeKernels = { name: 'train', clusterSize: 3, resources: { cpu: '1', 'cuda.device': '1' } }
const withGpus = { capacity: { cpu: 8000, mem: 2 ** 34, 'cuda.device': 4 }, devices: gpus(4) }

describe('a session of several kernels', () => {
  test('the session runs once all its kernels run, each with a device of its own, and all end with it', async () => {
    const agent = await cluster.join(withGpus)
    const { id, clusterSize } = await cluster.launch(threeKernels)
    expect(clusterSize).toBe(3)
    const running = await cluster.reach(id, 'RUNNING')
    expect(running.kernels.map(kernel => [kernel.role, kernel.status, kernel.agentId])).toEqual(
      ['main1', 'sub1', 'sub2'].map(role => [role, 'RUNNING', agent.id]),
    )
    const uuids = running.kernels.flatMap(kernel => kernel.devices.map(device => device.uuid))
    expect(uuids.toSorted()).toEqual(['GPU-0', 'GPU-1', 'GPU-2'])
    const specs = agent.requests('create_kernel').map(({ spec }) => spec)
    expect(specs.map(spec => [spec.role, spec.clusterSize, spec.devices.length]).toSorted()).toEqual([
      ['main1', 3, 1],
      ['sub1', 3, 1],
      ['sub2', 3, 1],
    ])
    await cluster.api.deleteSession({ params: { id } })
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.kernels.map(kernel => [kernel.status, kernel.exitCode])).toEqual(
      Array.from({ length: 3 }, () => ['TERMINATED', 143]),
    )
    expect(agent.containers.size).toBe(0)
    expect(await cluster.timeline(id)).toEqual([
      'PENDING requested',
      'SCHEDULED placed',
      'PREPARING create_sent',
      'RUNNING started',
      'TERMINATING user_terminated',
      'TERMINATED user_terminated',
    ])
  })

  test('the session does not run while one of its kernels is still starting', async () => {
    const gate = Promise.withResolvers<undefined>()
    const agent = await cluster.join(withGpus)
    agent.script.create_kernel = async ({ spec }) => {
      if (spec.role === 'sub2') await gate.promise
      return agent.run(spec)
    }
    const { id } = await cluster.launch(threeKernels)
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).kernels.map(kernel => kernel.status))
      .toEqual(['RUNNING', 'RUNNING', 'PREPARING'])
    expect((await cluster.api.getSession({ params: { id } })).status).toBe('PREPARING')
    gate.resolve(undefined)
    await cluster.reach(id, 'RUNNING')
  })

  test('if one kernel cannot start, all are removed, and the session starts again as a whole', async () => {
    const agent = await cluster.join(withGpus)
    agent.script.create_kernel = ({ spec }, signal) => {
      if (spec.attempt > 1 || spec.role === 'main1') return agent.run(spec)
      if (spec.role === 'sub1') throw new ScriptedError('kernel_create_failed', 'no room on the disk')
      return hang(signal)
    }
    const { id } = await cluster.launch(threeKernels)
    const running = await cluster.reach(id, 'RUNNING')
    expect(running.kernels.map(kernel => kernel.status)).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    expect(agent.requests('create_kernel').filter(({ spec }) => spec.attempt === 2)).toHaveLength(3)
    const taken = agent.requests('destroy_kernel').map(({ kernelId, attempt }) => [kernelId, attempt])
    for (const kernel of running.kernels) expect(taken).toContainEqual([kernel.id, 1])
    expect(await cluster.timeline(id)).toEqual([
      'PENDING requested',
      'SCHEDULED placed',
      'PREPARING create_sent',
      'PENDING retried',
      'SCHEDULED placed',
      'PREPARING create_sent',
      'RUNNING started',
    ])
  })

  test('the session ends with a kernel that dies, and says which one', async () => {
    const agent = await cluster.join(withGpus)
    const { id } = await cluster.launch(threeKernels)
    exitOf(await cluster.reach(id, 'RUNNING'), 'sub1', 3, agent)
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.reason).toMatchObject({
      code: 'kernel_failed',
      message: 'Container sub1 ended, and the session with it. The main process ended with exit code 3.',
    })
    expect(kernelOf(ended, 'sub1').exitCode).toBe(3)
    expect(agent.containers.size).toBe(0)
  })

  test('the session failed if a kernel died, even if the main kernel ends well when it is stopped', async () => {
    const agent = await cluster.join(withGpus)
    agent.script.destroy_kernel = ({ kernelId }) => {
      agent.containers.delete(kernelId)
      return { exitCode: 0, logTail: '' }
    }
    const { id } = await cluster.launch({ ...threeKernels, kind: 'batch', startupCommand: 'train' })
    const report = await cluster.launch({ name: 'report', dependsOn: ['train'] })
    exitOf(await cluster.reach(id, 'RUNNING'), 'sub1', 3, agent)
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.result).toBe('failure')
    expect(kernelOf(ended, 'main1').exitCode).toBe(0)
    expect((await cluster.reach(report.id, 'CANCELLED')).reason.code).toBe('dependency_failed')
  })

  test('the session continues without a kernel that has finished, and its GPU is free for others', async () => {
    const agent = await cluster.join(withGpus)
    const { id } = await cluster.launch(threeKernels)
    exitOf(await cluster.reach(id, 'RUNNING'), 'sub2', 0, agent)
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).kernels.map(kernel => kernel.status))
      .toEqual(['RUNNING', 'RUNNING', 'TERMINATED'])
    const other = await cluster.launch({ resources: { 'cuda.device': '2' } })
    await cluster.reach(other.id, 'RUNNING')
    exitOf(await cluster.reach(id, 'RUNNING'), 'main1', 0, agent)
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.kernels.map(kernel => kernel.exitCode)).toEqual([0, 143, 0])
  })

  test('the kernels survive a restart of the manager during their start', async () => {
    const agent = await cluster.join(withGpus)
    agent.script.create_kernel = ({ spec }, signal) => (spec.role === 'main1' ? agent.run(spec) : hang(signal))
    const { id } = await cluster.launch(threeKernels)
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).kernels.map(kernel => kernel.status))
      .toEqual(['RUNNING', 'PREPARING', 'PREPARING'])
    await cluster.restart(async () => {
      await agent.disconnect()
      agent.script.create_kernel = ({ spec }) => agent.run(spec)
    })
    await agent.connect()
    const running = await cluster.reach(id, 'RUNNING')
    expect(running.kernels.map(kernel => kernel.status)).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    expect(agent.containers.size).toBe(3)
  })

  test('a finished kernel does not run again while others still start', async () => {
    const agent = await cluster.join()
    agent.script.create_kernel = ({ spec }, signal) => (spec.role === 'main1' ? hang(signal) : agent.run(spec))
    const { id } = await cluster.launch({ clusterSize: 2 })
    const now = () => cluster.api.getSession({ params: { id } })
    const statuses = async () => (await now()).kernels.map(kernel => kernel.status)
    await expect.poll(statuses).toEqual(['PREPARING', 'RUNNING'])
    const done = agent.containers.get(kernelOf(await now(), 'sub1').id)
    if (!done) throw new Error('it does not run')
    const released = Promise.withResolvers<undefined>()
    await cluster.restart(async () => {
      await agent.disconnect()
      done.state = { state: 'exited', containerId: 'one', exitCode: 0, oomKilled: false, engineRestarted: false }
      agent.log.length = 0
      agent.script.create_kernel = ({ spec }) => released.promise.then(() => agent.run(spec))
    })
    await agent.connect()
    await expect.poll(statuses).toEqual(['PREPARING', 'TERMINATED'])
    // At least once: the request is repeated if the reply is late.
    await expect.poll(() => agent.requests('destroy_kernel').length).toBeGreaterThanOrEqual(1)
    released.resolve(undefined)
    await cluster.reach(id, 'RUNNING')
    expect(agent.requests('create_kernel').map(({ spec }) => spec.role)).toEqual(['main1'])
    expect(agent.log.map(entry => entry.name)).not.toContain('cancel')
    expect(await statuses()).toEqual(['RUNNING', 'TERMINATED'])
  })

  test('the session shows the figures of all its kernels together, and the log of each one', async () => {
    const agent = await cluster.join(withGpus)
    const { id } = await cluster.launch(threeKernels)
    const { kernels } = await cluster.reach(id, 'RUNNING')
    const stats: SessionStats = {
      at: new Date().toISOString(),
      cpuMilli: 100,
      memBytes: 1000,
      memPeakBytes: 1000,
      netRxBytes: 1,
      netTxBytes: 1,
      diskReadBytes: 1,
      diskWriteBytes: 1,
      scratchBytes: 1,
      gpus: [],
    }
    agent.send({ type: 'stats', kernels: kernels.map(kernel => ({ kernelId: kernel.id, stats })) })
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).stats)
      .toMatchObject({ cpuMilli: 300, memBytes: 3000 })
    agent.script.get_logs = ({ kernelId }) => ({ text: `log of ${kernelId}\n`, truncated: false })
    const sub2 = kernels[2]?.id ?? ''
    for (const kernel of ['sub2', sub2]) {
      expect((await cluster.api.getSessionLogs({ params: { id }, query: { kernel } })).text).toBe(`log of ${sub2}\n`)
    }
    const wrong = cluster.api.getSessionLogs({ params: { id }, query: { kernel: 'sub3' } })
    expect((await refusal(wrong)).code).toBe('kernel_not_found')
  })

  test('a session that is larger than every agent is refused with its total', async () => {
    await cluster.join()
    const refused = await refusal(cluster.launch({ clusterSize: 3, resources: { cpu: '4' } }))
    expect(refused).toMatchObject({ code: 'request_too_large', detail: { slot: 'cpu', needed: '12', largest: '8' } })
  })
})

test('three containers without records that name one session are imported as that session', async () => {
  const agent = await cluster.join(withGpus)
  const { id } = await cluster.launch(threeKernels)
  const { kernels } = await cluster.reach(id, 'RUNNING')
  const other = newId(SessionId)
  for (const kernel of kernels) {
    const container = agent.containers.get(kernel.id)
    if (!container) throw new Error('no container')
    const kernelId = newId(KernelId)
    const slots = { cpu: 500, mem: 2 ** 29 }
    const label = await cluster.signed({ ...container.label, kernelId, sessionId: other, slots, devices: [] })
    agent.containers.set(kernelId, { ...container, label })
  }
  await expect
    .poll(async () => (await cluster.api.getSession({ params: { id: other } }).catch(() => null))?.kernels.length)
    .toBe(3)
  const imported = await cluster.api.getSession({ params: { id: other } })
  expect(imported).toMatchObject({ status: 'RUNNING', clusterSize: 3, reason: { code: 'imported' } })
  expect(imported.kernels.map(kernel => kernel.role)).toEqual(['main1', 'sub1', 'sub2'])
  await cluster.api.deleteSession({ params: { id: other } })
  await cluster.reach(other, 'TERMINATED')
  expect(agent.containers.size).toBe(3)
})

describe('priority of waiting sessions', () => {
  const oneCore = { capacity: { cpu: 1000, mem: 2 ** 33 } }

  test('a raised priority starts a session before older ones; users may only lower theirs', async () => {
    await cluster.join(oneCore)
    const mira = await cluster.addUser('mira@example.com')
    const { id: first } = await cluster.launch({ name: 'first' }, mira)
    await cluster.reach(first, 'RUNNING')
    const { id: older } = await cluster.launch({ name: 'older' }, mira)
    const { id: younger } = await cluster.launch({ name: 'younger' }, mira)
    const raise = mira.setSessionPriority({ params: { id: younger }, body: { priority: 1 } })
    expect((await refusal(raise)).code).toBe('forbidden')
    expect((await refusal(cluster.launch({ name: 'eager', priority: 1 }, mira))).code).toBe('forbidden')
    const lowered = await mira.setSessionPriority({ params: { id: older }, body: { priority: -1 } })
    expect(lowered.priority).toBe(-1)
    await expect.poll(async () => (await cluster.api.getSession({ params: { id: younger } })).queuePosition).toBe(1)
    await cluster.api.setSessionPriority({ params: { id: older }, body: { priority: 5 } })
    await cluster.api.deleteSession({ params: { id: first } })
    await cluster.reach(older, 'RUNNING')
    expect((await cluster.api.getSession({ params: { id: younger } })).status).toBe('PENDING')
    // Setting the same number again changes nothing, and is no error while the session waits.
    await mira.setSessionPriority({ params: { id: younger }, body: { priority: 0 } })
    const late = mira.setSessionPriority({ params: { id: older }, body: { priority: 0 } })
    expect((await refusal(late)).code).toBe('session_not_waiting')
  })
})
