import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defined } from '#base/defined'
import { type ApiClient, type KernelId, type SessionId } from '#manager/contract'
import { DEFAULT_BACKEND, openDatabase } from '../../fixtures/database.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { gpus, ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { noSlurm, type SlurmCluster, startSlurm } from '../../fixtures/slurm-cluster.ts'

/** Length of the kills; a shorter one for a look while working. */
const SECONDS = Number(process.env['TEST_SLURM_CHAOS_SECONDS'] ?? 300)
const COUNT = 50
const MAIN = join(import.meta.dirname, '../../../manager/main.ts')

/** A manager as a process, which can be killed and started again on the same data and port. */
async function startManagerProcess(environment: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...cleanEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface(child.stdout), 'line')
  return child
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Follows who holds each GPU, in the agents' own log: a second holder at a time is a fault. */
function watchGpus(agent: ScriptedAgent, { faults, started }: { faults: string[]; started: Set<string> }): void {
  const { create_kernel: create } = agent.script
  agent.script.create_kernel = (input, signal) => {
    const wanted = new Set(input.spec.devices.map(({ uuid }) => uuid))
    for (const uuid of wanted) started.add(uuid)
    for (const [kernelId, { label, state }] of agent.containers)
      if (state.state === 'running' && kernelId !== input.spec.kernelId)
        for (const { uuid } of label.devices)
          if (wanted.has(uuid))
            faults.push(`${agent.name}: ${uuid} of ${kernelId} is given to ${input.spec.kernelId} too`)
    return create(input, signal)
  }
}

interface Held {
  readonly job: string
  readonly name: string
  readonly node: string
  readonly gpus: readonly string[]
}

/** Running jobs with the GPUs of each, as Slurm tells. */
async function readHeld(slurm: SlurmCluster): Promise<Held[]> {
  const text = await slurm.run('scontrol', 'show', 'job', '-d', '--oneliner')
  return text.split('\n').flatMap(line => {
    if (!line.includes('JobState=RUNNING')) return []
    const [, job = ''] = /JobId=(\d+)/.exec(line) ?? []
    const [, name = ''] = /JobName=(\S+)/.exec(line) ?? []
    const [, node = '', list = ''] =
      / Nodes=(\S+) CPU_IDs=\S+ Mem=\d+ GRES=(?:gpu:a100:\d+\(IDX:([\d,-]+)\))?/.exec(line) ?? []
    const indexes = list
      .split(',')
      .filter(Boolean)
      .flatMap(part => {
        const [first = 0, last = first] = part.split('-').map(Number)
        return Array.from({ length: last - first + 1 }, (_, at) => first + at)
      })
    return [{ job, name, node, gpus: indexes.map(index => `${node}-GPU-${index}`) }]
  })
}

test.skipIf(noSlurm !== undefined)(
  `${COUNT} sessions and kill -9 of manager, agents, slurmctld and slurmd in turn: no orphan on either side, no GPU given twice`,
  async () => {
    await using stack = new AsyncDisposableStack()
    const slurm = stack.use(await startSlurm())
    const { path: dataDir } = stack.use(await temporaryDirectory())
    const database = stack.use(await openDatabase(DEFAULT_BACKEND))
    const port = await freePort()
    const environment = {
      BERTH_DATA: dataDir,
      BERTH_PORT: String(port),
      BERTH_ADMIN_PASSWORD: ADMIN.password,
      BERTH_SLURM_COMMANDS: slurm.commands,
      BERTH_SLURM_POLL: '1',
      BERTH_LOG: 'fatal',
      ...defined({ DATABASE_URL: database.url }),
    }
    const url = `http://127.0.0.1:${port}`
    let manager = await startManagerProcess(environment)
    stack.defer(() => killProcess(manager))
    const { token } = await apiOf(url).login({ body: { ...ADMIN, kind: 'token' } })
    const api: ApiClient = apiOf(url, token ?? '')
    await api.updateResourceGroup({ params: { name: 'default' }, body: { engine: 'slurm' } })

    const faults: string[] = []
    /** GPUs that containers had, and that Slurm said it has given. */
    const [started, given] = [new Set<string>(), new Set<string>()]
    const agents: ScriptedAgent[] = []
    const away = new Set<ScriptedAgent>()
    stack.defer(() => Promise.all(agents.map(agent => agent[Symbol.asyncDispose]())).then(() => undefined))
    for (const name of ['g1', 'g2']) {
      const { join: invitation } = await api.createJoinToken({ body: {} })
      const devices = gpus(4).map(device => ({ ...device, uuid: `${name}-${device.uuid}` }))
      const agent = new ScriptedAgent({
        url,
        join: invitation,
        name,
        devices,
        capacity: { cpu: 16_000, mem: 62 * 2 ** 30 },
      })
      watchGpus(agent, { faults, started })
      agents.push(await agent.connect())
    }

    const churning = new AbortController()
    const dialling = new AbortController()
    stack.defer(() => {
      churning.abort()
      dialling.abort()
    })
    /** Agents dial again, as long as they are not killed. */
    const dial = (async () => {
      while (!dialling.signal.aborted) {
        for (const agent of agents)
          if (!away.has(agent) && !(await agent.heard())) await agent.connect().catch(() => undefined)
        await wait(200)
      }
    })()
    const live = async () => (await api.listSessions({ query: { status: 'live', limit: 500 } })).items
    /** Sessions come and go all the time: half of them with a GPU. */
    const churn = (async () => {
      let number = 0
      while (!churning.signal.aborted) {
        await (async () => {
          const sessions = await live()
          for (let missing = COUNT - sessions.length; missing > 0 && !churning.signal.aborted; missing--) {
            const gpu = number++ % 2 === 0 ? { 'cuda.device': '1' } : {}
            await api.createSession({
              body: { image: 'berth/python:3.13', resources: { cpu: '1', mem: '1 GiB', ...gpu } },
            })
          }
          const running = sessions.filter(({ status }) => status === 'RUNNING')
          const waiting = sessions.filter(({ status }) => status === 'PENDING')
          for (const one of [running[number % (running.length || 1)], waiting[number % (waiting.length || 1)]])
            if (one) await api.deleteSession({ params: { id: one.id } })
        })().catch(() => undefined)
        await wait(1_000)
      }
    })()
    /** Slurm's own log of the GPUs that it has given at a time. */
    const watch = (async () => {
      while (!churning.signal.aborted) {
        const held = await readHeld(slurm).catch(() => [])
        const seen = new Map<string, string>()
        for (const { job, gpus: own } of held)
          for (const uuid of own) {
            if (seen.has(uuid)) faults.push(`Slurm has given ${uuid} to jobs ${seen.get(uuid)} and ${job}`)
            seen.set(uuid, job)
            given.add(uuid)
          }
        await wait(500)
      }
    })()

    const killAgent = (at: number) => async () => {
      const agent = agents[at]
      if (!agent) return
      away.add(agent)
      await agent.disconnect()
      await wait(2_000)
      away.delete(agent)
    }
    const killDaemon = (daemon: 'slurmctld' | 'g1' | 'g2') => async () => {
      await slurm.kill(daemon)
      await wait(2_000)
      await slurm.start(daemon)
    }
    const kills: Readonly<Record<string, () => Promise<void>>> = {
      async manager() {
        await killProcess(manager)
        manager = await startManagerProcess(environment)
      },
      'agent g1': killAgent(0),
      slurmctld: killDaemon('slurmctld'),
      'slurmd g1': killDaemon('g1'),
      'agent g2': killAgent(1),
      'slurmd g2': killDaemon('g2'),
    }
    const until = Date.now() + SECONDS * 1000
    await expect.poll(() => agents.flatMap(({ containers }) => [...containers]).length).toBeGreaterThan(4)
    const killed: string[] = []
    while (Date.now() < until || killed.length < Object.keys(kills).length) {
      const [name, kill] = Object.entries(kills)[killed.length % Object.keys(kills).length] ?? [
        '',
        () => Promise.resolve(),
      ]
      killed.push(name)
      await kill()
      await wait(3_000)
    }
    churning.abort()
    await Promise.all([churn, watch])
    // Both logs have seen GPUs that were given.
    expect(given.size).toBeGreaterThan(4)
    expect(started.size).toBeGreaterThan(4)
    /** Both sides agree: each running session has one container and one job, with the same GPUs, and there is nothing else. */
    const disagreements = async () => {
      const sessions = await live()
      const held = await readHeld(slurm)
      const containers = agents.flatMap(({ name, containers: own }) =>
        [...own].map(([id, { label }]) => ({ node: name, id, label })),
      )
      const wrong: string[] = []
      const running = sessions.filter(({ status }) => status === 'RUNNING')
      for (const { id, status } of sessions)
        if (!['RUNNING', 'PENDING'].includes(status)) wrong.push(`session ${id} is ${status}`)
      for (const { id } of running) {
        const ofSession = containers.filter(({ label }) => label.sessionId === id)
        const jobs = held.filter(({ name }) => name.includes(id))
        const [container, job] = [ofSession[0], jobs[0]]
        if (ofSession.length !== 1 || jobs.length !== 1)
          wrong.push(`${id}: ${ofSession.length} containers, ${jobs.length} jobs`)
        const used = container?.label.devices.map(({ uuid }) => uuid).toSorted() ?? []
        if (container?.node !== job?.node || used.join() !== job?.gpus.toSorted().join())
          wrong.push(`${id}: ${container?.node} ${used.join()} and ${job?.node} ${job?.gpus.join()}`)
      }
      const ids = new Set<SessionId>(running.map(({ id }) => id))
      for (const { id, label } of containers)
        if (!ids.has(label.sessionId)) wrong.push(`container ${id} has no session`)
      for (const { job, name } of held)
        if (!sessions.some(({ id }) => name.includes(id))) wrong.push(`job ${job} ${name} has no session`)
      return wrong
    }
    await expect.poll(disagreements, { timeout: 180_000, interval: 1_000 }).toEqual([])
    for (const { id } of await live()) await api.deleteSession({ params: { id } })
    const left = async () => [
      ...(await slurm.jobs()),
      ...agents.flatMap(({ containers }) => [...containers.keys()] as KernelId[]),
    ]
    await expect.poll(left, { timeout: 180_000, interval: 1_000 }).toEqual([])
    dialling.abort()
    await dial
    expect(faults).toEqual([])
  },
  (SECONDS + 600) * 1000,
)
