import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Session, type SessionId } from '#manager/contract'
import { SLURM_EPILOG } from '../../../cli/slurm-epilog.ts'
import { gpus, hang, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { noSlurm, type SlurmCluster, startSlurm } from '../../fixtures/slurm-cluster.ts'

const ONE_GPU = { cpu: '1', mem: '1 GiB', 'cuda.device': '1' }
const NODE = { capacity: { cpu: 16_000, mem: 62 * 2 ** 30 } }

describe.skipIf(noSlurm !== undefined)('a resource group run by a real Slurm', () => {
  const stack = new AsyncDisposableStack()
  let slurm: SlurmCluster
  let berth: SessionsCluster
  let agents: Map<string, ScriptedAgent>

  beforeAll(async () => {
    slurm = stack.use(await startSlurm())
    const allocations = { confirmMs: 1_500, retryMs: 1_000, appearMs: 10_000 }
    berth = stack.use(
      await startSessionsCluster({ allocations }, { slurmCommands: slurm.commands, slurmPollSeconds: 1 }),
    )
    await settings({})
  })
  afterAll(() => stack.disposeAsync())
  afterEach(() => vi.unstubAllEnvs())
  beforeEach(async () => {
    await berth.reset()
    await settings({})
    await expect.poll(() => slurm.jobs()).toEqual([])
    await expect.poll(() => slurm.run('sinfo', '-hN', '-p', 'gpu', '-o', '%N %T')).toBe('g1 idle\ng2 idle\n')
    agents = new Map()
    for (const name of ['g1', 'g2']) {
      const devices = gpus(4).map(device => ({ ...device, uuid: `${name}-${device.uuid}` }))
      agents.set(name, await berth.join({ ...NODE, name, devices }))
    }
  })

  const settings = (slurmSettings: object) =>
    berth.api.updateResourceGroup({
      params: { name: 'default' },
      body: { engine: 'slurm', options: { slurm: slurmSettings } },
    })
  const launch = (resources: Partial<typeof ONE_GPU> = ONE_GPU, more: object = {}) =>
    berth.launch({ resources, ...more })
  const end = (id: SessionId) => berth.api.deleteSession({ params: { id } })
  const jobOf = async ({ id }: Pick<Session, 'id'>) => (await slurm.jobs()).filter(line => line.includes(id))
  const jobId = async ({ id }: Pick<Session, 'id'>) =>
    (await slurm.run('squeue', '-h', '-t', 'PD,R', '-o', '%i %j'))
      .split('\n')
      .find(line => line.includes(id))
      ?.split(' ')[0] ?? ''
  /** The process of `salloc` that waits for the session. */
  async function clientOf({ id }: Session): Promise<number> {
    for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      if (words.startsWith('salloc') && words.includes(id)) return Number(pid)
    }
    throw new Error('no salloc waits for the session')
  }
  const get = (id: SessionId) => berth.api.getSession({ params: { id } })
  const messageOf = async (id: SessionId) => (await get(id)).reason.message
  const containers = () => [...agents.values()].reduce((sum, agent) => sum + agent.containers.size, 0)

  test('a session gets the granted node and GPUs, and its end frees the job', async () => {
    const session = await launch({ ...ONE_GPU, 'cuda.device': '2' })
    await berth.reach(session.id, 'RUNNING')
    const job = await slurm.run('scontrol', 'show', 'job', '-d', await jobId(session))
    const [, node = '', list = ''] = /Nodes=(\w+) CPU_IDs=\S+ Mem=1024 GRES=gpu:a100:2\(IDX:([\d,-]+)\)/.exec(job) ?? []
    const [first = 0, last = 0] = list.split(/[,-]/).map(Number)
    const created = agents.get(node)?.log.find(({ name }) => name === 'create_kernel')?.input as {
      spec: { devices: { uuid: string }[] }
    }
    expect(created.spec.devices.map(({ uuid }) => uuid).toSorted()).toEqual([
      `${node}-GPU-${first}`,
      `${node}-GPU-${last}`,
    ])
    await end(session.id)
    await berth.reach(session.id, 'TERMINATED')
    await expect.poll(() => slurm.jobs()).toEqual([])
  })

  test('a session that is cancelled while it waits leaves no job, also if it is granted at that moment', async () => {
    const all = { cpu: '1', mem: '1 GiB', 'cuda.device': '4' }
    const holders = [await launch(all), await launch(all)]
    for (const { id } of holders) await berth.reach(id, 'RUNNING')
    const waiting = await launch(all)
    await expect.poll(() => jobOf(waiting)).toEqual([expect.stringContaining('PENDING')])
    // The estimate comes with the next pass of Slurm's scheduler.
    await expect
      .poll(() => messageOf(waiting.id))
      .toMatch(/^Waits in Slurm until enough resources are free\. Estimated start: 20/)
    await end(waiting.id)
    await berth.reach(waiting.id, 'CANCELLED')
    await expect.poll(() => jobOf(waiting)).toEqual([])
    const next = await launch(all)
    await expect.poll(() => jobOf(next)).toEqual([expect.stringContaining('PENDING')])
    await Promise.all([end(holders[0]?.id ?? next.id), end(next.id)])
    await berth.reach(next.id, 'CANCELLED')
    await expect.poll(() => jobOf(next)).toEqual([])
    await expect.poll(() => slurm.jobs()).toEqual([expect.stringContaining(holders[1]?.id ?? '')])
  })

  test('a job that is cancelled in Slurm ends its session: waiting, starting or running', async () => {
    for (const agent of agents.values()) agent.script.create_kernel = (_input, signal) => hang(signal)
    const starting = await launch()
    await berth.reach(starting.id, 'PREPARING')
    await slurm.run('scancel', await jobId(starting))
    await berth.reach(starting.id, 'TERMINATED')
    expect(await messageOf(starting.id)).toBe("The session's job was cancelled in Slurm.")
    for (const agent of agents.values()) agent.script.create_kernel = ({ spec }) => agent.run(spec)

    const running = await launch()
    await berth.reach(running.id, 'RUNNING')
    await slurm.run('scancel', await jobId(running))
    await berth.reach(running.id, 'TERMINATED')
    expect(await berth.reasonOf(running.id)).toBe('allocation_ended')
    expect(containers()).toBe(0)

    await slurm.run('scontrol', 'update', 'partitionname=gpu', 'state=down')
    const waiting = await launch()
    await expect.poll(() => jobOf(waiting)).toHaveLength(1)
    await slurm.run('scancel', await jobId(waiting))
    await berth.reach(waiting.id, 'CANCELLED')
    await slurm.run('scontrol', 'update', 'partitionname=gpu', 'state=up')
  })

  test('a container that ends frees its job', async () => {
    const session = await launch()
    await berth.reach(session.id, 'RUNNING')
    const agent = [...agents.values()].find(({ containers: own }) => own.size > 0)
    const [kernelId] = agent?.containers.keys() ?? []
    if (!agent || !kernelId) throw new Error('no container')
    agent.change(kernelId, { state: 'exited', containerId: 'c', exitCode: 0, oomKilled: false, engineRestarted: false })
    await berth.reach(session.id, 'TERMINATED')
    await expect.poll(() => slurm.jobs()).toEqual([])
  })

  test('a node that is lost ends its sessions', async () => {
    const session = await launch()
    await berth.reach(session.id, 'RUNNING')
    const node = (await slurm.run('squeue', '-h', '-o', '%N')).trim()
    await slurm.run('scontrol', 'update', `nodename=${node}`, 'state=down', 'reason=test')
    await berth.reach(session.id, 'TERMINATED')
    expect(await messageOf(session.id)).toBe('Slurm has lost the node of the session.')
    // Slurm 22.05 has taken it back by itself.
    await slurm.run('scontrol', 'update', `nodename=${node}`, 'state=resume').catch(() => undefined)
  })

  test('a preempted session ends, and says so', async () => {
    await settings({ partition: 'low' })
    const sessions = [
      await launch({ ...ONE_GPU, 'cuda.device': '4' }),
      await launch({ ...ONE_GPU, 'cuda.device': '4' }),
    ]
    for (const { id } of sessions) await berth.reach(id, 'RUNNING')
    await slurm.run('salloc', '--no-shell', '-J', 'winner', '-p', 'gpu', '-c', '1', '--mem=1G', '--gres=gpu:4')
    const ended = async () => {
      const all = await Promise.all(sessions.map(({ id }) => get(id)))
      return all.filter(({ status }) => status === 'TERMINATED').map(({ reason }) => reason.message)
    }
    await expect.poll(ended).toEqual(['Slurm needs the resources for a job that goes first.'])
    expect(containers()).toBe(1)
    await slurm.run('scancel', '-n', 'winner')
  })

  test('a preempted session has the grace time of its partition, and its programs are told when it ends', async () => {
    const graceTime = (seconds: number) => slurm.run('scontrol', 'update', 'partitionname=low', `gracetime=${seconds}`)
    onTestFinished(async () => void (await graceTime(0)))
    await graceTime(30)
    await settings({ partition: 'low' })
    const four = { ...ONE_GPU, 'cuda.device': '4' }
    const sessions = [await launch(four), await launch(four)]
    for (const { id } of sessions) await berth.reach(id, 'RUNNING')
    const winner = slurm.run('salloc', '--no-shell', '-J', 'winner', '-p', 'gpu', '-c', '1', '--mem=1G', '--gres=gpu:4')
    const warned = () => [...agents.values()].flatMap(agent => agent.requests('warn_kernel'))
    await expect.poll(() => warned().length).toBe(1)
    expect(warned()).toMatchObject([{ isEnd: true }])
    const ends = async () =>
      (await Promise.all(sessions.map(({ id }) => get(id)))).flatMap(({ endedAt }) => endedAt ?? [])
    await expect.poll(ends).toHaveLength(1)
    // The times that are written down decide, because this test may be late.
    const left = Date.parse(warned()[0]?.at ?? '') - Date.parse((await ends())[0] ?? '')
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(15_000)
    await winner
    await slurm.run('scancel', '-n', 'winner')
  })

  test('reasons are shown in words, and refusals in those of Slurm', async () => {
    await slurm.run('scontrol', 'update', 'partitionname=gpu', 'state=down')
    const held = await launch()
    await expect
      .poll(() => messageOf(held.id))
      .toBe('Waits in Slurm: the nodes that it needs are not available (PartitionDown).')
    await slurm.run('scontrol', 'hold', await jobId(held))
    await expect.poll(() => messageOf(held.id)).toMatch(/^Held in Slurm/)
    await slurm.run('scontrol', 'update', 'partitionname=gpu', 'state=up')
    await end(held.id)

    await settings({ partition: 'short', timeLimitMinutes: 10 })
    const never = await launch()
    await expect.poll(() => messageOf(never.id)).toMatch(/exceeds a limit of the queue \(PartitionTimeLimit\)/)
    await end(never.id)

    await settings({ partition: 'nowhere' })
    const refused = await launch()
    await expect.poll(() => berth.reasonOf(refused.id)).toBe('allocation_refused')
    expect(await messageOf(refused.id)).toMatch(/invalid partition specified: nowhere/)
    // Once the setting is corrected, the session starts.
    await settings({})
    await berth.reach(refused.id, 'RUNNING')
  })

  test('a waiting session keeps its place while the manager is away', async () => {
    const all = { cpu: '1', mem: '1 GiB', 'cuda.device': '4' }
    const holders = [await launch(all), await launch(all)]
    for (const { id } of holders) await berth.reach(id, 'RUNNING')
    const waiting = await launch(all)
    await expect.poll(() => jobOf(waiting)).toHaveLength(1)
    const before = await jobId(waiting)
    await berth.restart()
    for (const agent of agents.values()) await agent.connect()
    expect(await jobId(waiting)).toBe(before)
    await end(holders[0]?.id ?? waiting.id)
    await berth.reach(waiting.id, 'RUNNING')
    expect(await jobId(waiting)).toBe(before)
    expect((await slurm.jobs()).length).toBe(2)
  })

  test('a waiting session whose client is told to end with the manager is requested again', async () => {
    await slurm.run('scontrol', 'update', 'partitionname=gpu', 'state=down')
    const session = await launch()
    await expect.poll(() => jobOf(session)).toHaveLength(1)
    await berth.restart(async () => {
      process.kill(await clientOf(session), 'SIGTERM')
      await expect.poll(() => jobOf(session)).toEqual([])
    })
    await expect.poll(async () => (await jobOf(session)).join()).toMatch(/-2 PENDING$/)
    expect((await get(session.id)).status).toBe('PENDING')
    await slurm.run('scontrol', 'update', 'partitionname=gpu', 'state=up')
  })

  test('a request that seems to fail although Slurm has taken it is found by its name', async () => {
    const path = join(slurm.commands, 'salloc')
    const real = await readFile(path, 'utf8')
    const inBackground = real.replace(/^exec (.*)$/m, 'setsid $1 2>/dev/null &')
    await writeFile(path, `${inBackground}\nsleep 1; echo "salloc: error: Socket timed out" >&2; exit 1\n`)
    const session = await launch()
    await berth.reach(session.id, 'RUNNING')
    expect(await slurm.jobs()).toHaveLength(1)
    await writeFile(path, real)
  })

  test('a grant of a node without an agent of its name is not used', async () => {
    await agents.get('g1')?.[Symbol.asyncDispose]()
    await slurm.run('scontrol', 'update', 'nodename=g2', 'state=drain', 'reason=test')
    const session = await launch()
    await expect.poll(() => messageOf(session.id)).toMatch(/^Slurm granted node g1, but no connected host/)
    await slurm.run('scontrol', 'update', 'nodename=g2', 'state=resume')
  })

  test('while the controller is away nothing ends and nothing is requested twice; afterwards what was asked for is done', async () => {
    const stays = await launch()
    const ends = await launch()
    for (const { id } of [stays, ends]) await berth.reach(id, 'RUNNING')
    // Slurm saves its state within seconds; what it has not saved is another test.
    await new Promise(resolve => setTimeout(resolve, 6_000))
    await slurm.kill('slurmctld')
    const awaySince = Date.now()
    const waiting = await launch()
    await expect.poll(() => berth.reasonOf(waiting.id)).toBe('allocator_away')
    await end(ends.id)
    await berth.reach(ends.id, 'TERMINATED')
    await new Promise(resolve => setTimeout(resolve, 30_000 - (Date.now() - awaySince)))
    expect((await get(stays.id)).status).toBe('RUNNING')
    expect((await get(waiting.id)).status).toBe('PENDING')
    await slurm.start('slurmctld')
    await expect.poll(() => jobOf(ends)).toEqual([])
    await expect.poll(() => messageOf(waiting.id)).toBe('The container started.')
    expect((await get(stays.id)).status).toBe('RUNNING')
    expect(await slurm.jobs()).toHaveLength(2)
  })

  test('sessions are jobs of their owners in Slurm, from the request to the end', async () => {
    // Users of the cluster are not users of this computer: this stands in for the real `runuser`.
    const runuser = join(slurm.commands, 'runuser')
    await writeFile(runuser, '#!/bin/sh\nexport SLURM_AS=$2\nshift 3\nexec "$@"\n', { mode: 0o755 })
    vi.stubEnv('PATH', `${slurm.commands}:${process.env['PATH'] ?? ''}`)
    await settings({ people: { users: { 'ada@example.org': 'ada' } } })
    const ada = await berth.addUser('ada@example.org')
    const session = await berth.launch({ resources: ONE_GPU }, ada)
    await berth.reach(session.id, 'RUNNING')
    expect((await slurm.run('squeue', '-h', '-o', '%u')).trim()).toBe('ada')
    await end(session.id)
    await berth.reach(session.id, 'TERMINATED')
    await expect.poll(() => slurm.jobs()).toEqual([])
  })

  test('a session ends at the time limit that it has chosen, and shows it before', async () => {
    await settings({ timeLimitMinutes: 30, constraint: 'a100', offers: { constraint: ['nvlink'] } })
    const session = await launch(ONE_GPU, { slurm: { timeLimitMinutes: 1, constraint: 'nvlink' } })
    await berth.reach(session.id, 'RUNNING')
    const job = await slurm.run('scontrol', 'show', 'job', await jobId(session))
    expect(job).toContain('Features=nvlink')
    const [, end = ''] = /EndTime=(\S+)/.exec(job) ?? []
    await expect.poll(async () => (await get(session.id)).slurmEndsAt).toBe(`${end}.000Z`)
    expect((await get(session.id)).ends?.why).toBe('slurm_time_limit')
    await expect.poll(async () => (await get(session.id)).status).toBe('TERMINATED')
    expect(await messageOf(session.id)).toBe('The session has reached the time limit of its job in Slurm.')
    expect(containers()).toBe(0)
  })
})

test.skipIf(noSlurm !== undefined)(
  'with the epilog of Berth, GPUs are granted again when their containers are gone',
  async () => {
    await using slurm = await startSlurm(['Epilog=/slurm/epilog.sh'])
    const directory = dirname(slurm.commands)
    // A stand-in for Docker, which the small root of the test has not: its containers are lines of a file.
    await mkdir(join(directory, 'stub'))
    const docker =
      'case $1 in ps) cat /slurm/containers;; stop) sleep 2; : > /slurm/containers; date +%s > /slurm/stopped;; esac'
    await writeFile(join(directory, 'stub/docker'), `#!/bin/sh\n${docker}\n`, { mode: 0o755 })
    const settings = 'PATH=/slurm/stub:/usr/bin:/bin BERTH_EPILOG_WAIT=1'
    const script = SLURM_EPILOG.replace('\n', `\n${settings}\n`)
    await writeFile(join(directory, 'epilog.sh'), script, { mode: 0o755 })
    await writeFile(join(directory, 'containers'), 'c1\n')
    const allocate = () =>
      slurm.run('salloc', '--no-shell', '-J', 'holder', '-w', 'g1', '-c', '1', '--mem=1G', '--gres=gpu:4')
    await allocate()
    await slurm.run('scancel', '-n', 'holder')
    await allocate()
    const granted = /StartTime=(\S+)/.exec(await slurm.run('scontrol', 'show', 'job', '2'))?.[1] ?? ''
    const stopped = Number(await readFile(join(directory, 'stopped'), 'utf8'))
    expect(Date.parse(`${granted}Z`) / 1000).toBeGreaterThanOrEqual(stopped)
    expect(await readFile(join(directory, 'containers'), 'utf8')).toBe('')
  },
)
