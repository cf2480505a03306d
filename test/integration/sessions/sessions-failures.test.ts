import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { because, type KernelId, type Session } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { gpus, hang, PYTHON, type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const TIMINGS = {
  preparingMs: 6_000,
  pullingMs: 6_000,
  pullStalledMs: 800,
  terminatingMs: 500,
  graceMs: 100,
  destroyTimeoutMs: 400,
  replyMarginMs: 200,
  sweepMs: 50,
  agentLostMs: 1_000,
  slowTickMs: 500,
  faults: { faultMs: 0, wellMs: 200 },
}

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster(TIMINGS)
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

function kernelOf(session: Session): KernelId {
  const [kernel] = session.kernels
  if (!kernel) throw new Error('no kernel')
  return kernel.id
}

const broken = () => {
  throw new ScriptedError('kernel_create_failed', 'The engine said no')
}

/** Runs one session on an agent and returns both. */
async function running(agent?: ScriptedAgent) {
  const host = agent ?? (await cluster.join())
  const { id } = await cluster.launch()
  const session = await cluster.reach(id, 'RUNNING')
  return { agent: host, id, kernelId: kernelOf(session) }
}

test('a program that the memory limit ended is in the timeline once a minute, and the session says so while it runs', async () => {
  const { agent, id, kernelId } = await running()
  agent.killProgram(kernelId)
  agent.killProgram(kernelId)
  const killed = 'RUNNING memory_killed'
  await expect.poll(() => cluster.timeline(id)).toContain(killed)
  const { reason } = await cluster.api.getSession({ params: { id } })
  expect(reason).toMatchObject({ code: 'memory_killed', cause: 'program_out_of_memory', values: { limit: '1 GiB' } })
  agent.change(kernelId, { state: 'exited', containerId: 'c', exitCode: 3, oomKilled: false, engineRestarted: false })
  await expect.poll(async () => (await cluster.timeline(id)).at(-1)).toMatch(/ exited$/)
  expect((await cluster.timeline(id)).filter(line => line === killed)).toHaveLength(1)
})

test('a warning of the agent is in the timeline once a minute, in words and as a key, and the session says so while it runs', async () => {
  const { agent, id, kernelId } = await running()
  const { why: message, ...key } = because('gpu_share_warned', { used: '24.5 GiB', share: '20 GiB' })
  const warning = { code: 'gpu_warned', message, ...key } as const
  agent.warn(kernelId, warning)
  agent.warn(kernelId, warning)
  await expect.poll(() => cluster.timeline(id)).toContain('RUNNING gpu_warned')
  const { reason } = await cluster.api.getSession({ params: { id } })
  expect(reason).toMatchObject({ ...warning, values: { used: '24.5 GiB', share: '20 GiB' } })
  expect((Date.parse(reason.until ?? '') - Date.now()) / 60_000).toBeCloseTo(10, 0)
  const stopped = { code: 'gpu_limit', message: 'The session used more.' } as const
  const exit = { exitCode: 137, oomKilled: false, engineRestarted: false, stopped }
  agent.change(kernelId, { state: 'exited', containerId: 'c', ...exit })
  await expect.poll(async () => (await cluster.timeline(id)).at(-1)).toMatch(/ gpu_limit$/)
  expect((await cluster.timeline(id)).filter(line => line.endsWith('gpu_warned'))).toHaveLength(1)
})

test('an ended program is told for an hour; after 30 the timeline gets one an hour, and the session still tells the last', async () => {
  const { agent, id, kernelId } = await running()
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  agent.killProgram(kernelId)
  const reason = async () => (await cluster.api.getSession({ params: { id } })).reason
  await expect.poll(async () => (await reason()).code).toBe('memory_killed')
  const toldFor = Date.parse((await reason()).until ?? '') - Date.now()
  expect(toldFor / 60_000).toBeCloseTo(60, 0)
  await sql`update sessions set reason = reason || '{"until":"2026-01-01T00:00:00.000Z"}' where id = ${id}`.execute(
    store.db,
  )
  expect(await reason()).toMatchObject({ code: 'started' })

  const kills = async () => (await cluster.timeline(id)).filter(line => line === 'RUNNING memory_killed').length
  await sql`insert into session_events (session_id, kernel_id, from_status, to_status, reason, at)
    select session_id, kernel_id, from_status, to_status, reason, now() - interval '2 minutes'
    from session_events, generate_series(1, 29) where session_id = ${id} and reason ->> 'code' = 'memory_killed'`.execute(
    store.db,
  )
  const age = (minutes: number) =>
    sql`update session_events set at = now() - ${minutes} * interval '1 minute'
      where session_id = ${id} and reason ->> 'code' = 'memory_killed'`.execute(store.db)
  // Messages of an agent are handled in order: when the kill in another session is recorded, earlier ones have been handled.
  const judged = async () => {
    const other = await running(agent)
    agent.killProgram(other.kernelId)
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id: other.id } })).reason.code)
      .toBe('memory_killed')
  }
  await age(2)
  agent.killProgram(kernelId)
  await judged()
  expect(await kills()).toBe(30)
  // The session still shows it, and is not updated for another kill right after it.
  const renewed = await reason()
  expect(renewed).toMatchObject({ code: 'memory_killed', cause: 'program_out_of_memory' })
  expect((Date.parse(renewed.until ?? '') - Date.now()) / 60_000).toBeCloseTo(60, 0)
  agent.killProgram(kernelId)
  await judged()
  expect(await reason()).toEqual(renewed)
  await age(61)
  agent.killProgram(kernelId)
  await expect.poll(kills).toBe(31)
})

describe('a start that fails', () => {
  test('the session starts on another agent', async () => {
    const bad = await cluster.join({ script: { create_kernel: broken } })
    const good = await cluster.join({ capacity: { cpu: 9000, mem: 32 * 2 ** 30 } })
    const { id } = await cluster.launch()
    const session = await cluster.reach(id, 'RUNNING')
    expect(session.kernels[0]?.agentId).toBe(good.id)
    expect(bad.requests('create_kernel')).toHaveLength(1)
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

  test('an overloaded engine costs no attempt', async () => {
    let busy = 4
    const agent = await cluster.join()
    agent.script.create_kernel = ({ spec }) => {
      if (busy-- > 0) throw new ScriptedError('engine_busy', 'Docker on the host is overloaded')
      return agent.run(spec)
    }
    const { id } = await cluster.launch()
    await cluster.reach(id, 'RUNNING')
    const timeline = await cluster.timeline(id)
    const waits = ['PENDING requested', ...Array.from({ length: 4 }, () => 'PENDING host_unfit')]
    expect(timeline.filter(line => line.startsWith('PENDING'))).toEqual(waits)
  })

  test('a taken network range costs no attempt, and the host gets no further start before the range is free', async () => {
    const agent = await cluster.join()
    const problem = '10.213.0.0/16 overlaps 10.213.0.0/16 on tun0.'
    agent.script.create_kernel = () => {
      agent.networkProblem = problem
      agent.report()
      throw new ScriptedError('network_range_taken', problem)
    }
    const { id } = await cluster.launch()
    await expect.poll(() => cluster.reasonOf(id)).toBe('no_agents')
    const shown = async () => (await cluster.api.listAgents()).items.find(item => item.id === agent.id)
    await expect.poll(async () => (await shown())?.problem).toContain('overlaps')
    expect(await cluster.timeline(id)).toEqual([
      'PENDING requested',
      'SCHEDULED placed',
      'PREPARING create_sent',
      'PENDING host_unfit',
    ])
    expect((await cluster.api.getResources({})).largest.cpu ?? '0').toBe('0')
    agent.script.create_kernel = ({ spec }) => agent.run(spec)
    agent.networkProblem = null
    agent.report()
    await cluster.reach(id, 'RUNNING')
    await expect.poll(async () => (await shown())?.problem).toBeNull()
  })

  test('a full disk costs no attempt: the host reports it, gets no further start, superadmins are told, and sessions wait with that reason', async () => {
    const agent = await cluster.join({ name: 'full-disk' })
    const told = async () =>
      (await cluster.api.listMessages()).items.filter(({ detail }) => detail === agent.name).map(({ about }) => about)
    const problem = because('agent_disk_short', { path: '/data/scratch', free: '0.4 GiB', needed: '1.0 GiB' })
    agent.script.create_kernel = () => {
      agent.hostProblem = problem
      agent.report()
      throw new ScriptedError('disk_full', because('host_disk_short').why, { ...because('host_disk_short') })
    }
    const sessions = await Promise.all(Array.from({ length: 6 }, () => cluster.launch({ resources: { cpu: '0.5' } })))
    for (const { id } of sessions) {
      await expect
        .poll(async () => (await cluster.api.getSession({ params: { id } })).reason)
        .toMatchObject({ code: 'no_agents', cause: 'no_host_can_start' })
    }
    const shown = async () => (await cluster.api.listAgents()).items.find(item => item.id === agent.id)
    expect(await shown()).toMatchObject({ problem: problem.why, problemBy: { cause: 'agent_disk_short' } })
    await expect.poll(told).toEqual(['host_fault'])
    // Owners see neither paths nor bytes.
    const { items } = await cluster.api.listSessionEvents({ params: { id: sessions[0]?.id ?? '' } })
    expect(JSON.stringify(items)).not.toContain('/data/scratch')
    agent.script.create_kernel = ({ spec }) => agent.run(spec)
    agent.hostProblem = null
    agent.report()
    for (const { id } of sessions) await cluster.reach(id, 'RUNNING')
    await expect.poll(async () => (await shown())?.problem).toBeNull()
    await expect.poll(told).toEqual(['host_well', 'host_fault'])
  })

  test('superadmins are told once of a GPU that fails, also if it recovers and fails again', async () => {
    const agent = await cluster.join({ name: 'hot-gpu', devices: gpus(2) })
    const [first, second] = agent.devices
    if (!first || !second) throw new Error('no GPUs')
    const gpu = `${first.model} (${first.uuid})`
    const told = async () =>
      (await cluster.api.listMessages()).items.filter(({ detail }) => detail.startsWith('hot-gpu'))
    const problem = because('gpu_xid', { xid: '79', text: 'GPU has fallen off the bus.' })
    const { why, ...keys } = problem
    const fail = () => {
      agent.devices = [{ ...first, problem: why, problemBy: keys }, second]
      agent.report()
    }
    fail()
    await expect
      .poll(async () => {
        agent.report()
        return (await told()).map(({ about, detail }) => [about, detail])
      })
      .toEqual([['gpu_fault', `hot-gpu: ${gpu}`]])
    expect((await told())[0]?.text).toContain('fallen off the bus')
    agent.devices = [first, second]
    agent.report()
    fail()
    const shown = async () => (await cluster.api.getAgent({ params: { id: agent.id } })).devices[0]?.problem
    await expect.poll(shown).toBe(why)
    expect(await told()).toHaveLength(1)
  })

  test('a start that waits for its turn on the agent says so, and its deadline is suspended', async () => {
    const turn = Promise.withResolvers<undefined>()
    const agent = await cluster.join()
    agent.script.create_kernel = async ({ spec }) => {
      agent.containers.set(spec.kernelId, {
        attempt: spec.attempt,
        state: { state: 'starting', phase: 'preparing', ahead: 3 },
        label: agent.labelOf(spec),
      })
      await turn.promise
      return agent.run(spec)
    }
    const { id } = await cluster.launch()
    const reason = async () => (await cluster.api.getSession({ params: { id } })).reason
    await expect.poll(reason).toMatchObject({
      code: 'starting_soon',
      message: `Starting soon: 3 sessions are being started on ${agent.name} before it.`,
    })
    await new Promise(resolve => setTimeout(resolve, TIMINGS.preparingMs + 1_000))
    expect(await reason()).toMatchObject({ code: 'starting_soon' })
    turn.resolve(undefined)
    await cluster.reach(id, 'RUNNING')
    expect(agent.requests('create_kernel')).toHaveLength(1)
  })

  test('after three failed attempts the session ends in ERROR, and says why', async () => {
    const agents = [
      await cluster.join({ script: { create_kernel: broken } }),
      await cluster.join({ script: { create_kernel: broken } }),
    ]
    const { id } = await cluster.launch()
    const session = await cluster.reach(id, 'ERROR')
    expect(session.reason.code).toBe('create_failed')
    expect(session.reason.message).toContain('The engine said no')
    const attempts = agents.map(agent => agent.requests('create_kernel').map(({ spec }) => spec.attempt))
    expect(attempts.flat().toSorted()).toEqual([1, 2, 3])
    expect(attempts.every(list => list.length > 0)).toBe(true)
  })

  test('a hanging start is cancelled after its deadline, and the session starts elsewhere', async () => {
    const slow = await cluster.join({ script: { create_kernel: (_input, signal) => hang(signal) } })
    const good = await cluster.join({ capacity: { cpu: 9000, mem: 32 * 2 ** 30 } })
    const { id } = await cluster.launch()
    const session = await cluster.reach(id, 'RUNNING')
    expect(session.kernels[0]?.agentId).toBe(good.id)
    expect(slow.requests('destroy_kernel')).toHaveLength(1)
    expect(slow.log.map(entry => entry.name)).toContain('cancel')
  })

  test('a start on a lost agent waits until that agent has given up by itself, then moves', async () => {
    const lost = await cluster.join({ script: { create_kernel: (_input, signal) => hang(signal) } })
    const { id } = await cluster.launch()
    await cluster.reach(id, 'PREPARING')
    const sentAt = Date.now()
    const good = await cluster.join({ capacity: { cpu: 9000, mem: 32 * 2 ** 30 } })
    await lost.disconnect()
    const session = await cluster.reach(id, 'RUNNING')
    expect(session.kernels[0]?.agentId).toBe(good.id)
    expect(Date.now() - sentAt).toBeGreaterThan(TIMINGS.preparingMs / 2)
  })
})

test('a session with one of two kernels running on a lost agent moves only once that agent releases it', async () => {
  const lost = await cluster.join()
  lost.script.create_kernel = ({ spec }, signal) => (spec.role === 'main1' ? lost.run(spec) : hang(signal))
  const { id } = await cluster.launch({ clusterSize: 2 })
  const kernels = async () => (await cluster.api.getSession({ params: { id } })).kernels.map(kernel => kernel.status)
  await expect.poll(kernels).toEqual(['RUNNING', 'PREPARING'])
  // A later start of one kernel there is retried elsewhere once the agent's time is over: by then that of this session is over too.
  lost.script.create_kernel = (_input, signal) => hang(signal)
  const { id: single } = await cluster.launch()
  await cluster.reach(single, 'PREPARING')
  const good = await cluster.join({ capacity: { cpu: 9000, mem: 32 * 2 ** 30 } })
  await lost.disconnect()
  await cluster.reach(single, 'RUNNING')
  expect(good.requests('create_kernel').map(({ spec }) => spec.role)).toEqual(['main1'])
  lost.script.create_kernel = ({ spec }) => lost.run(spec)
  await lost.connect()
  // The session's time is over: the agent removes its containers, and only then is it started elsewhere.
  const session = await cluster.reach(id, 'RUNNING')
  const [on, ...others] = session.kernels.map(kernel => kernel.agentId)
  expect(others).toEqual([on])
  const elsewhere = on === lost.id ? good : lost
  for (const kernel of session.kernels) expect(elsewhere.containers.has(kernel.id)).toBe(false)
})

test('leftovers of an earlier attempt are removed on its agent, and the start on the next agent continues', async () => {
  const first = await cluster.join({ script: { create_kernel: broken } })
  const released = Promise.withResolvers<undefined>()
  const second = await cluster.join({ capacity: { cpu: 9000, mem: 32 * 2 ** 30 } })
  second.script.create_kernel = async ({ spec }) => {
    await released.promise
    return second.run(spec)
  }
  const { id } = await cluster.launch()
  await expect.poll(() => second.requests('create_kernel')).toHaveLength(1)
  const [sent] = first.requests('create_kernel')
  if (!sent) throw new Error('the first agent was not asked')
  first.run(sent.spec)
  await expect.poll(() => first.containers.size).toBe(0)
  released.resolve(undefined)
  const session = await cluster.reach(id, 'RUNNING')
  expect(session.kernels[0]?.agentId).toBe(second.id)
  expect(second.log.map(entry => entry.name)).not.toContain('cancel')
  expect(second.requests('destroy_kernel')).toEqual([])
})

describe('a pull', () => {
  test('a pull shows its progress, and the session runs afterwards', async () => {
    const started = Promise.withResolvers<undefined>()
    const agent = await cluster.join({ images: [PYTHON], script: {} })
    agent.script.create_kernel = async ({ spec }) => {
      agent.run(spec)
      agent.change(spec.kernelId, { state: 'starting', phase: 'pulling' })
      agent.pull(spec.kernelId, { layersDone: 1, layersTotal: 4, bytesDone: 25, bytesTotal: 100, layers: [] })
      await started.promise
      return agent.run(spec)
    }
    const { id } = await cluster.launch()
    await cluster.reach(id, 'PULLING')
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).pull)
      .toMatchObject({ layersDone: 1, bytesTotal: 100 })
    started.resolve(undefined)
    const session = await cluster.reach(id, 'RUNNING')
    expect(session.pull).toBeNull()
  })

  test('ending the session cancels its pull', async () => {
    const agent = await cluster.join()
    agent.script.create_kernel = ({ spec }, signal) => {
      agent.run(spec)
      agent.change(spec.kernelId, { state: 'starting', phase: 'pulling' })
      return hang(signal)
    }
    const { id } = await cluster.launch()
    await cluster.reach(id, 'PULLING')
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect(agent.log.map(entry => entry.name)).toContain('cancel')
    expect(agent.containers.size).toBe(0)
  })

  test('a pull without progress is given up', async () => {
    const agent = await cluster.join()
    agent.script.create_kernel = ({ spec }, signal) => {
      agent.run(spec)
      agent.change(spec.kernelId, { state: 'starting', phase: 'pulling' })
      return hang(signal)
    }
    const { id } = await cluster.launch()
    const session = await cluster.reach(id, 'ERROR')
    expect(session.reason.code).toBe('deadline_exceeded')
  })
})

describe('the end of a session', () => {
  test('two requests to end a session end it once', async () => {
    const { agent, id } = await running()
    await Promise.all([1, 2, 3].map(() => cluster.api.deleteSession({ params: { id } })))
    await cluster.reach(id, 'TERMINATED')
    // On a slow computer, the manager asks again, without grace, before the agent has answered.
    expect(agent.requests('destroy_kernel').filter(({ graceMs }) => graceMs > 0)).toHaveLength(1)
    expect((await cluster.timeline(id)).filter(step => step.startsWith('TERMINATED'))).toHaveLength(1)
  })

  test('the end of a session waits for its absent agent, says so, and keeps its slots occupied', async () => {
    const { agent, id } = await running()
    await agent.disconnect()
    await expect.poll(async () => (await cluster.api.getSession({ params: { id } })).reachable).toBe(false)
    await cluster.api.deleteSession({ params: { id } })
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).reason.message)
      .toContain('when the host returns')
    expect((await cluster.api.listAgents()).items[0]?.occupied.cpu).toBe('1')
    await agent.connect()
    const { reason } = await cluster.reach(id, 'TERMINATED')
    expect(reason.code).toBe('user_terminated')
    expect(reason.message).not.toContain('when the host returns')
    expect(agent.containers.size).toBe(0)
  })

  test('an end that the agent does not confirm is requested again without grace', async () => {
    const agent = await cluster.join()
    const { id } = await running(agent)
    let calls = 0
    agent.script.destroy_kernel = ({ kernelId }, signal) => {
      if (++calls === 1) return hang(signal)
      agent.containers.delete(kernelId)
      return { exitCode: 137, logTail: '' }
    }
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    const [first, ...others] = agent.requests('destroy_kernel').map(input => input.graceMs)
    expect(first).toBe(100)
    expect(new Set(others)).toEqual(new Set([0]))
  })

  test('an end that the agent never confirms keeps slots and devices occupied, and says what it waits for', async () => {
    const agent = await cluster.join({ capacity: { cpu: 8000, mem: 2 ** 33, 'cuda.device': 1 }, devices: gpus(1) })
    const { id } = await cluster.launch({ resources: { 'cuda.device': '1' } })
    await cluster.reach(id, 'RUNNING')
    agent.script.destroy_kernel = () => {
      throw new ScriptedError('internal', 'The engine hangs')
    }
    await cluster.api.deleteSession({ params: { id } })
    await expect
      .poll(async () => (await cluster.api.getSession({ params: { id } })).reason.message)
      .toContain('has not removed the container yet')
    const second = await cluster.launch({ resources: { 'cuda.device': '1' } })
    await expect.poll(() => cluster.reasonOf(second.id)).toBe('capacity')
    expect((await cluster.api.getSession({ params: { id } })).status).toBe('TERMINATING')
    agent.script.destroy_kernel = ({ kernelId }) => {
      agent.containers.delete(kernelId)
      return { exitCode: 137, logTail: '' }
    }
    await cluster.reach(id, 'TERMINATED')
    await cluster.reach(second.id, 'RUNNING')
  })

  test.each([
    ['exited', { oomKilled: false, engineRestarted: false }],
    ['oom_killed', { oomKilled: true, engineRestarted: false }],
    ['engine_restarted', { oomKilled: false, engineRestarted: true }],
  ])('the session tells how it ended by itself: %s', async (code, how) => {
    const { agent, id, kernelId } = await running()
    agent.change(kernelId, { state: 'exited', containerId: 'c', exitCode: 7, ...how })
    const session = await cluster.reach(id, 'TERMINATED')
    expect(session).toMatchObject({ reason: { code }, kernels: [{ exitCode: 7 }] })
    await expect.poll(async () => (await cluster.api.getSessionLogs({ params: { id } })).text).toBe('last words\n')
  })

  test.each(['disk_limit', 'gpu_limit', 'host_limit'] as const)(
    "with %s the owner learns the agent's reason, whatever else the end looks like",
    async code => {
      const { agent, id, kernelId } = await running()
      const stopped = { code, message: 'It took more than a session may have.' }
      const exit = { exitCode: 137, oomKilled: true, engineRestarted: false, stopped }
      agent.change(kernelId, { state: 'exited', containerId: 'c', ...exit })
      expect(await cluster.reach(id, 'TERMINATED')).toMatchObject({ reason: stopped, kernels: [{ exitCode: 137 }] })
    },
  )

  test('a session ends when somebody removes its container outside of Berth', async () => {
    const { agent, id, kernelId } = await running()
    agent.containers.delete(kernelId)
    expect((await cluster.reach(id, 'TERMINATED')).reason.code).toBe('container_gone')
    // So that the agent removes the network and the scratch directory as well.
    await expect.poll(() => agent.requests('destroy_kernel').map(input => input.kernelId)).toEqual([kernelId])
  })

  test('a session ends when its agent is forgotten', async () => {
    const { agent, id } = await running()
    await cluster.api.forgetAgent({ params: { id: agent.id } })
    expect((await cluster.reach(id, 'TERMINATED')).reason.code).toBe('agent_forgotten')
    await agent.connect()
    expect(agent.refusal?.code).toBe('agent_revoked')
  })
})

describe('after a restart of the manager', () => {
  test('a PENDING session is placed after a restart', async () => {
    const agent = await cluster.join()
    await agent.disconnect()
    const { id } = await cluster.launch()
    await cluster.restart()
    await agent.connect()
    await cluster.reach(id, 'RUNNING')
  })

  test('a session whose create_kernel was lost with the manager is started once', async () => {
    const agent = await cluster.join({ script: { create_kernel: (_input, signal) => hang(signal) } })
    const { id } = await cluster.launch()
    await cluster.reach(id, 'PREPARING')
    await cluster.restart(() => {
      agent.script.create_kernel = ({ spec }) => agent.run(spec)
    })
    await agent.connect()
    await cluster.reach(id, 'RUNNING')
    expect(agent.requests('create_kernel').map(({ spec }) => spec.attempt)).toEqual([1, 1])
  })

  test('a session that started during the restart is adopted', async () => {
    const agent = await cluster.join({ script: { create_kernel: (_input, signal) => hang(signal) } })
    const { id } = await cluster.launch()
    await cluster.reach(id, 'PREPARING')
    const [input] = agent.requests('create_kernel')
    await cluster.restart(() => {
      if (input) agent.run(input.spec)
    })
    await agent.connect()
    await cluster.reach(id, 'RUNNING')
    expect((await cluster.timeline(id)).at(-1)).toBe('RUNNING adopted')
    expect(agent.requests('create_kernel')).toHaveLength(1)
  })

  test('a RUNNING session is still RUNNING, and its agent is asked for its commands only', async () => {
    const { agent, id } = await running()
    const asked = agent.log.length
    await cluster.restart()
    await agent.connect()
    await expect.poll(async () => (await cluster.api.getSession({ params: { id } })).reachable).toBe(true)
    expect((await cluster.api.getSession({ params: { id } })).status).toBe('RUNNING')
    expect(agent.log.slice(asked).filter(({ name }) => name !== 'list_commands')).toEqual([])
  })

  test('a RUNNING session whose container ended during the restart is TERMINATED', async () => {
    const { agent, id, kernelId } = await running()
    await cluster.restart(() => void agent.containers.delete(kernelId))
    await agent.connect()
    expect((await cluster.reach(id, 'TERMINATED')).reason.code).toBe('container_gone')
  })

  test('a TERMINATING session ends after a restart', async () => {
    const { agent, id } = await running()
    agent.script.destroy_kernel = (_input, signal) => hang(signal)
    await cluster.api.deleteSession({ params: { id } })
    await cluster.restart(() => {
      agent.script.destroy_kernel = ({ kernelId }) => {
        agent.containers.delete(kernelId)
        return { exitCode: 143, logTail: 'bye\n' }
      }
    })
    await agent.connect()
    await cluster.reach(id, 'TERMINATED')
    expect((await cluster.api.getSessionLogs({ params: { id } })).text).toBe('bye\n')
  })
})
