import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { probeSlurm } from '../../../cli/doctor/probe/slurm.ts'
import { noSlurm, noSlurmDatabase } from '../../fixtures/slurm-cluster.ts'
import { FOUR_GPUS, ONE_GPU, type SlurmSessions, startSlurmSessions } from '../../fixtures/slurm-sessions.ts'

let lab: SlurmSessions
const reach = (id: Parameters<SlurmSessions['get']>[0], status: Parameters<SlurmSessions['berth']['reach']>[1]) =>
  lab.berth.reach(id, status)

describe.skipIf(noSlurm !== undefined)('a real Slurm', () => {
  const stack = new AsyncDisposableStack()
  beforeAll(async () => {
    lab = stack.use(await startSlurmSessions())
  })
  afterAll(() => stack.disposeAsync())
  beforeEach(() => lab.reset())

  test('a preempted session that may be interrupted continues on another allocation', async () => {
    const { slurm, settings, launch, get } = lab
    const graceTime = (seconds: number) => slurm.run('scontrol', 'update', 'partitionname=low', `gracetime=${seconds}`)
    onTestFinished(async () => void (await graceTime(0)))
    await graceTime(20)
    await settings({ partition: 'low' })
    const sessions = [await launch(four()), await launch(four())]
    for (const { id } of sessions) await reach(id, 'RUNNING')
    await slurm.run('salloc', '--no-shell', '-J', 'winner', '-p', 'gpu', '-c', '1', '--mem=1G', '--gres=gpu:4')
    const interrupted = async () =>
      (await Promise.all(sessions.map(({ id }) => get(id)))).filter(({ interruptions }) => interruptions === 1)
    await expect.poll(interrupted).toHaveLength(1)
    const [one] = await interrupted()
    if (!one) throw new Error('no session was interrupted')
    expect(one.status).toBe('PENDING')
    const jobOf = async () => (await slurm.jobs()).find(line => line.includes(one.id))
    await expect.poll(jobOf).toMatch(/-2 PENDING$/)
    await slurm.run('scancel', '-n', 'winner')
    await reach(one.id, 'RUNNING')
    const timeline = await lab.berth.timeline(one.id)
    expect(timeline).toEqual(expect.arrayContaining(['RUNNING interruption_announced', 'PENDING interrupted']))
  })

  test('a session whose node has lost its slurmd ends once Slurm says so', async () => {
    const { slurm, launch, get } = lab
    const sessions = [await launch(four()), await launch(four())]
    for (const { id } of sessions) await reach(id, 'RUNNING')
    onTestFinished(() => slurm.start('g1'))
    await slurm.kill('g1')
    const states = async () => {
      const all = await Promise.all(sessions.map(({ id }) => get(id)))
      return all.map(({ status, reason }) => reason.cause ?? status).toSorted()
    }
    await expect.poll(states, { interval: 500 }).toContain('slurm_node_failed')
    await expect.poll(() => lab.agents.get('g1')?.containers.size).toBe(0)
    // On a busy machine Slurm may lose the other node too for a while.
    const jobs = async () => (await slurm.run('squeue', '-h', '-t', 'R', '-w', 'g2', '-o', '%i')).split('\n').length - 1
    await expect.poll(async () => (lab.agents.get('g2')?.containers.size ?? 0) - (await jobs())).toBe(0)
  })

  test('a controller that dies right after grants gives no GPU to two sessions', async () => {
    const { slurm, launch, agents } = lab
    const sessions = await Promise.all(Array.from({ length: 4 }, () => launch(four(2))))
    await expect
      .poll(async () => (await slurm.jobs()).filter(line => line.endsWith('RUNNING')).length)
      .toBeGreaterThan(0)
    await slurm.kill('slurmctld')
    await slurm.start('slurmctld')
    // Each has a job of its own in the end, whatever the controller has forgotten; those that have lost one are launched again.
    const running = async () => {
      const all = await Promise.all(sessions.map(({ id }) => lab.get(id)))
      for (const [at, { status }] of all.entries())
        if (status === 'TERMINATED' || status === 'CANCELLED') sessions[at] = await launch(four(2))
      return all.filter(({ status }) => status === 'RUNNING').length
    }
    await expect.poll(running, { interval: 500 }).toBe(4)
    for (const [node, { containers }] of agents) {
      const used = [...containers.values()].flatMap(({ label }) => label.devices.map(({ uuid }) => uuid))
      expect(new Set(used).size, node).toBe(used.length)
    }
    await expect.poll(async () => (await slurm.jobs()).length).toBe(4)
  })

  test('the model that a session chooses is requested by the type that Slurm has for it', async () => {
    const { slurm, launch } = lab
    const session = await launch({ gpu: { model: 'Test GPU' } })
    await reach(session.id, 'RUNNING')
    expect(await slurm.run('scontrol', 'show', 'job', await lab.jobId(session))).toMatch(/gres[:/]gpu:a100:1/)
  })

  test('a session over two nodes has a container with its GPUs on each; both end with the job, and with one of the nodes', async () => {
    const { slurm, launch, agents } = lab
    const small = { clusterSize: 2, clusterMode: 'multi-host' } as const
    const apart = { ...small, resources: { ...ONE_GPU, 'cuda.device': '3' } }
    const session = await launch(small)
    await expect.poll(() => lab.berth.reasonOf(session.id)).toBe('no_host_network')
    await lab.end(session.id)
    await lab.reset({ inNetwork: true })
    const next = await launch(apart)
    await reach(next.id, 'RUNNING')
    const onEach = () =>
      [...agents.values()].map(({ containers }) => [...containers.values()].map(({ label }) => label))
    expect(onEach().map(on => on.map(({ devices }) => devices.length))).toEqual([[3], [3]])
    expect(await slurm.run('squeue', '-h', '-o', '%D %N')).toBe('2 g[1-2]\n')
    await slurm.run('scancel', await lab.jobId(next))
    await reach(next.id, 'TERMINATED')
    expect((await lab.get(next.id)).reason.cause).toBe('slurm_cancelled')
    await expect.poll(onEach).toEqual([[], []])
    const shrunk = await launch(apart)
    await reach(shrunk.id, 'RUNNING')
    await slurm.run('scontrol', 'update', `jobid=${await lab.jobId(shrunk)}`, 'numnodes=1')
    await reach(shrunk.id, 'TERMINATED')
    expect((await lab.get(shrunk.id)).reason.cause).toBe('slurm_shrunk')
    await expect.poll(onEach).toEqual([[], []])
    const last = await launch(apart)
    await reach(last.id, 'RUNNING')
    const setNode = (...state: string[]) => slurm.run('scontrol', 'update', 'nodename=g2', ...state)
    // Slurm may have taken the node back by itself, because it answers.
    onTestFinished(async () => void (await setNode('state=resume').catch(() => undefined)))
    await setNode('state=down', 'reason=test')
    await reach(last.id, 'TERMINATED')
    await expect.poll(onEach).toEqual([[], []])
  })

  test('a session runs in the reservation that it chooses among those of its group', async () => {
    const { slurm, settings, launch } = lab
    const reserve = ['reservationname=course', 'starttime=now', 'duration=60', 'users=root', 'nodes=g2']
    await slurm.run('scontrol', 'create', ...reserve)
    onTestFinished(async () => void (await slurm.run('scontrol', 'delete', 'reservationname=course')))
    await settings({ offers: { reservation: ['course'] } })
    const session = await launch({ slurm: { reservation: 'course' } })
    await reach(session.id, 'RUNNING')
    expect(lab.agents.get('g2')?.containers.size).toBe(1)
    await lab.end(session.id)
    await reach(session.id, 'TERMINATED')
    await expect.poll(() => slurm.jobs()).toEqual([])
  })
})

describe.skipIf(noSlurmDatabase !== undefined)('a real Slurm with its database', () => {
  const stack = new AsyncDisposableStack()
  beforeAll(async () => {
    lab = stack.use(await startSlurmSessions(['MinJobAge=2'], { withDatabase: true }))
  })
  afterAll(() => stack.disposeAsync())
  beforeEach(() => lab.reset())

  test('a limit on submitted jobs lets the session wait in Berth, in words of Slurm, until there is room', async () => {
    await lab.settings({ qos: 'few' })
    const sessions = [await lab.launch(), await lab.launch(), await lab.launch()]
    const states = async () => {
      const all = await Promise.all(sessions.map(({ id }) => lab.get(id)))
      return all.map(({ status, reason }) => (status === 'RUNNING' ? status : reason.code)).toSorted()
    }
    await expect.poll(states).toEqual(['RUNNING', 'RUNNING', 'allocation_refused'])
    const all = await Promise.all(sessions.map(({ id }) => lab.get(id)))
    expect(all.find(({ status }) => status === 'PENDING')?.reason.message).toMatch(/QOS|limit/i)
    await lab.end(all.find(({ status }) => status === 'RUNNING')?.id ?? sessions[0]!.id)
    await expect.poll(async () => (await states()).filter(one => one === 'RUNNING').length).toBe(2)
  })

  test('an account that nobody knows is refused before the queue', async () => {
    await lab.settings({ account: 'nobody' })
    const session = await lab.launch()
    await expect.poll(() => lab.berth.reasonOf(session.id)).toBe('allocation_refused')
    expect((await lab.get(session.id)).reason.message).toMatch(/account/i)
  })

  test('sessions start and end while the database of Slurm is away', async () => {
    const history = async () => (await probeSlurm(lab.slurm.commands))?.isHistoryThere
    expect(await history()).toBe(true)
    await lab.slurm.kill('slurmdbd')
    onTestFinished(() => lab.slurm.start('slurmdbd'))
    expect(await history()).toBe(false)
    const session = await lab.launch()
    await reach(session.id, 'RUNNING')
    await lab.end(session.id)
    await reach(session.id, 'TERMINATED')
    await expect.poll(() => lab.slurm.jobs()).toEqual([])
  })

  test('a job that ended while no manager looked has its cause from the history', async () => {
    const { slurm, berth } = lab
    const session = await lab.launch()
    await reach(session.id, 'RUNNING')
    await berth.restart(async () => {
      const id = await lab.jobId(session)
      await slurm.run('scancel', id)
      // The controller sends what happened while the database was away later.
      const state = () => slurm.run('sacct', '-nPX', '-j', id, '-o', 'State')
      await expect.poll(state, { interval: 1_000 }).toMatch(/^CANCELLED/)
      const listed = async () => (await slurm.run('squeue', '-h', '-t', 'all', '-o', '%j')).includes(session.id)
      // The controller forgets ended jobs once a minute.
      await expect.poll(listed, { interval: 1_000 }).toBe(false)
    })
    await lab.connect()
    await reach(session.id, 'TERMINATED')
    expect((await lab.get(session.id)).reason.cause).toBe('slurm_cancelled')
  })
})

const four = (gpus = 4) => ({ resources: { ...FOUR_GPUS, 'cuda.device': String(gpus) }, interruptible: true })
