import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type Session } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { gpus, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

const stack = new AsyncDisposableStack()
let directory: string
let berth: SessionsCluster
let agent: ScriptedAgent

const MOST_WAITING = 8

/** Stand-ins for Slurm's commands: the jobs are a file, and calls are written down. `slurm.test.ts` has a real Slurm. */
beforeAll(async () => {
  directory = stack.use(await temporaryDirectory()).path
  await command('scontrol', `case $1 in show) cat ${directory}/nodes;; *) [ ! -e ${directory}/away ];; esac`)
  await command('squeue', `cat ${directory}/jobs`)
  await command('salloc', `echo "$*" >> ${directory}/asked`)
  await command('sacct', `cat ${directory}/history`)
  await command('scancel', `echo "$1" >> ${directory}/released`)
  const allocations = {
    confirmMs: 300,
    retryMs: 300,
    // A slow machine may show a job long after it was asked for.
    appearMs: 600_000,
    pollMs: 200,
    giveUpMs: 1_000,
    mostWaiting: MOST_WAITING,
  }
  berth = stack.use(await startSessionsCluster({ allocations }, { slurmCommands: directory }))
  await berth.api.createResourceGroup({ body: { name: 'other', engine: 'slurm' } })
})
afterAll(() => stack.disposeAsync())
afterEach(() => vi.unstubAllEnvs())

let number = 0
beforeEach(async () => {
  await say([])
  await berth.reset()
  // Looks in flight may still act on what the last test said.
  await looks(2)
  for (const name of ['asked', 'released', 'history']) await writeFile(join(directory, name), '')
  const slurm = { partition: 'gpu', timeLimitMinutes: 90 }
  await berth.api.updateResourceGroup({ params: { name: 'default' }, body: { engine: 'slurm', options: { slurm } } })
  agent = await berth.join({ name: `g${++number}`, devices: gpus(2) })
  await writeFile(join(directory, 'nodes'), `NodeName=${agent.name} Gres=gpu:test:2\n`)
})

async function command(name: string, script: string): Promise<void> {
  await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(directory, name), 0o755)
}
const linesOf = async (name: string) => (await readFile(join(directory, name), 'utf8')).split('\n').filter(Boolean)
/** The name of the last request for the session. */
const nameOf = (session: Session) =>
  vi.waitFor(
    async () => {
      const line = (await linesOf('asked')).findLast(asked => asked.includes(session.id))
      const [, name] = /--job-name=(\S+)/.exec(line ?? '') ?? []
      if (name === undefined) throw new Error('not asked')
      return name
    },
    { timeout: 120_000 },
  )
const job = (name: string, more: object = {}) => ({
  job_id: 7,
  name,
  user_id: process.getuid?.(),
  job_state: ['RUNNING'],
  submit_time: 100,
  start_time: 110,
  restart_cnt: 0,
  preempt_time: 0,
  gres_detail: ['gpu:a100:1(IDX:1)'],
  job_resources: { nodes: { allocation: [{ name: agent.name }] } },
  ...more,
})
const say = (jobs: readonly object[]) => writeFile(join(directory, 'jobs'), JSON.stringify({ jobs, errors: [] }))
const ONE_GPU = { cpu: '1', mem: '1 GiB', 'cuda.device': '1' }
const launch = () => berth.launch({ resources: ONE_GPU })
async function run(): Promise<{ session: Session; name: string }> {
  const session = await launch()
  const name = await nameOf(session)
  await say([job(name)])
  return { session: await berth.reach(session.id, 'RUNNING'), name }
}
/** Resolves after Slurm was asked for its jobs this many times more. */
async function looks(count: number): Promise<void> {
  await writeFile(join(directory, 'looks'), '')
  await command('squeue', `echo >> ${directory}/looks; cat ${directory}/jobs`)
  const seen = async () => (await readFile(join(directory, 'looks'), 'utf8')).length
  await expect.poll(seen).toBeGreaterThanOrEqual(count)
}

test('a session is requested with the settings of its group, runs where Slurm says, and is released', async () => {
  const { session, name } = await run()
  const [asked] = await linesOf('asked')
  expect(asked).toBe(
    `--no-shell --job-name=${name} --nodes=1 --ntasks=1 --cpus-per-task=1 --mem=1024M --gres=gpu:1 --partition=gpu --time=90`,
  )
  expect(await linesOf('asked')).toHaveLength(1)
  const created = agent.log.find(one => one.name === 'create_kernel')?.input
  expect(created).toMatchObject({ spec: { devices: [{ uuid: 'GPU-1' }], slurmJob: { id: '7', startedAt: 110 } } })
  expect(await linesOf('released')).toEqual([])
  await berth.api.deleteSession({ params: { id: session.id } })
  await expect.poll(() => linesOf('released')).toContain('7')
})

test('an answer that is not a complete list changes nothing', async () => {
  const { session } = await run()
  const answers = ['{"jobs":[],"errors":[{"error":"Unspecified error"}]}', 'squeue: error: Socket timed out', '']
  for (const answer of answers) {
    await writeFile(join(directory, 'jobs'), answer)
    await looks(2)
  }
  const waiting = await launch()
  await expect.poll(() => berth.reasonOf(waiting.id)).toBe('allocator_away')
  await looks(3)
  expect((await berth.api.getSession({ params: { id: session.id } })).status).toBe('RUNNING')
  expect(await linesOf('asked')).toHaveLength(1)
  expect(await linesOf('released')).toEqual([])
})

test('an allocation that Slurm has forgotten ends its session, also if the number belongs to another job', async () => {
  const { session } = await run()
  await say([job('somebody-else')])
  await berth.reach(session.id, 'TERMINATED')
  expect(await berth.reasonOf(session.id)).toBe('allocation_ended')
  expect(agent.containers.size).toBe(0)
  expect(await linesOf('released')).toEqual([])
})

test('a failed start gives the allocation back and requests another one, on another node if there is one', async () => {
  const other = await berth.join({ name: `${agent.name}b`, devices: gpus(2) })
  await writeFile(
    join(directory, 'nodes'),
    `NodeName=${agent.name}.lab State=IDLE\nNodeName=${other.name} State=IDLE\n`,
  )
  agent.script.create_kernel = () => {
    agent.script.create_kernel = ({ spec }) => agent.run(spec)
    throw new Error('not this time')
  }
  const session = await launch()
  const first = await nameOf(session)
  await say([job(first)])
  await expect.poll(() => linesOf('asked')).toHaveLength(2)
  const second = await nameOf(session)
  expect([first, second].map(name => name.slice(-2))).toEqual(['-1', '-2'])
  expect((await linesOf('asked'))[1]).toContain(` --exclude=${agent.name}.lab `)
  await expect.poll(() => linesOf('released')).toContain('7')
  await say([job(second, { job_id: 8, submit_time: 120, start_time: 120 })])
  await berth.reach(session.id, 'RUNNING')
})

test('a node whose host lacks the image is excluded from the request', async () => {
  const other = await berth.join({ name: `${agent.name}b`, devices: gpus(2), images: [] })
  await writeFile(join(directory, 'nodes'), `NodeName=${agent.name}\nNodeName=${other.name}\n`)
  await nameOf(await launch())
  expect(await linesOf('asked')).toEqual([expect.stringContaining(` --exclude=${other.name} `)])
})

test('a host that takes no sessions gets none by a grant, which is given back', async () => {
  await berth.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
  const session = await launch()
  await say([job(await nameOf(session))])
  const causeOf = async () => (await berth.api.getSession({ params: { id: session.id } })).reason.cause
  await expect.poll(causeOf).toBe('slurm_host_unable')
  await expect.poll(() => linesOf('released')).toContain('7')
})

test('a grant is not kept through a pause of scheduling', async () => {
  const session = await launch()
  const name = await nameOf(session)
  await berth.api.pauseScheduling()
  await say([job(name)])
  await expect.poll(() => linesOf('released')).toContain('7')
  expect(await berth.reasonOf(session.id)).toBe('scheduling_paused')
  await berth.api.resumeScheduling()
})

test('the allocation of the last session is released also if Slurm runs no group any more', async () => {
  const { session } = await run()
  await writeFile(join(directory, 'away'), '')
  await berth.api.deleteSession({ params: { id: session.id } })
  await berth.reach(session.id, 'TERMINATED')
  const toEngine = (name: string, engine: 'berth' | 'slurm') =>
    berth.api.updateResourceGroup({ params: { name }, body: { engine } })
  for (const name of ['default', 'other']) await toEngine(name, 'berth')
  expect(await linesOf('released')).toEqual([])
  await rm(join(directory, 'away'))
  await expect.poll(() => linesOf('released')).toContain('7')
  await toEngine('other', 'slurm')
})

test("a chosen model is requested as Slurm's type of GPUs, and a grant of another one is given back", async () => {
  const h100 = gpus(2).map(device => ({ ...device, uuid: `h-${device.uuid}`, model: 'NVIDIA H100 80GB HBM3' }))
  const other = await berth.join({ name: `${agent.name}h`, devices: h100 })
  await writeFile(
    join(directory, 'nodes'),
    `NodeName=${agent.name} Gres=gpu:test:2 x=1\nNodeName=${other.name} Gres=gpu:h100:2(S:0) x=1\n`,
  )
  const session = await berth.launch({ resources: ONE_GPU, gpu: { model: 'H100' } })
  const first = await nameOf(session)
  expect((await linesOf('asked'))[0]).toContain(' --gres=gpu:h100:1 ')
  await say([job(first)])
  await expect.poll(() => linesOf('released')).toContain('7')
  const onOther = { job_resources: { nodes: { allocation: [{ name: other.name }] } } }
  const second = async () => {
    await say([job(await nameOf(session), { job_id: 8, submit_time: 120, start_time: 120, ...onOther })])
    return (await berth.api.getSession({ params: { id: session.id } })).status
  }
  await expect.poll(second).toBe('RUNNING')
  expect(other.containers.size).toBe(1)
  await writeFile(join(directory, 'nodes'), `NodeName=${agent.name}-other Gres=gpu:test:2\n`)
  const nowhere = await berth.launch({ resources: ONE_GPU, gpu: { model: 'Test GPU' } })
  const causeOf = async () => (await berth.api.getSession({ params: { id: nowhere.id } })).reason.cause
  await expect.poll(causeOf).toBe('slurm_gpus_nowhere')
  expect((await linesOf('asked')).filter(line => line.includes(nowhere.id))).toEqual([])
})

test('shares and MIG instances are refused, and the engine changes only without live sessions', async () => {
  const shares = berth.launch({ resources: { 'cuda.shares': '0.5' } })
  expect(await refusal(shares)).toMatchObject({ code: 'bad_request', detail: { cause: 'slurm_without_shares' } })
  const chosen = berth.launch({ resources: { 'cuda.device': '1' }, gpu: { migProfile: '1g.10gb' } })
  expect(await refusal(chosen)).toMatchObject({ code: 'bad_request', detail: { cause: 'slurm_without_mig' } })
  await launch()
  const change = berth.api.updateResourceGroup({ params: { name: 'default' }, body: { engine: 'berth' } })
  expect(await refusal(change)).toMatchObject({
    code: 'resource_group_in_use',
    detail: { cause: 'engine_with_live_sessions' },
  })
})

test('a session chooses a time limit and what its group offers, and shows when Slurm ends it', async () => {
  const slurm = { qos: 'normal', timeLimitMinutes: 60, maxTimeLimitMinutes: 240, offers: { qos: ['urgent'] } }
  await berth.api.updateResourceGroup({ params: { name: 'default' }, body: { options: { slurm } } })
  const choose = (chosen: object) => berth.launch({ resources: { cpu: '1', mem: '1 GiB' }, slurm: chosen })
  const causeOf = async (chosen: object) => (await refusal(choose(chosen))).detail['cause']
  expect(await causeOf({ timeLimitMinutes: 241 })).toBe('slurm_time_over')
  expect(await causeOf({ qos: 'other' })).toBe('slurm_not_offered')
  expect(await causeOf({ reservation: 'course' })).toBe('slurm_offers_none')

  const session = await choose({ timeLimitMinutes: 240, qos: 'urgent' })
  expect(session).toMatchObject({ slurm: { timeLimitMinutes: 240, qos: 'urgent' }, slurmEndsAt: null })
  const name = await nameOf(session)
  expect((await linesOf('asked'))[0]).toMatch(/ --qos=urgent --time=240$/)
  // The last warnings, 15 and 5 minutes before the end, are past.
  const end = Math.round(Date.now() / 1000) + 280
  const times = { submit_time: end - 14_400, start_time: end - 14_400, end_time: end }
  await say([job(name, { ...times, time_limit: { set: true, infinite: false, number: 240 } })])
  await berth.reach(session.id, 'RUNNING')
  const get = () => berth.api.getSession({ params: { id: session.id } })
  const at = new Date(end * 1000).toISOString()
  await expect.poll(async () => (await get()).slurmEndsAt).toBe(at)
  expect((await get()).ends).toMatchObject({ at, why: 'slurm_time_limit' })
  const extension = berth.api.extendSession({ params: { id: session.id }, body: {} })
  expect(await refusal(extension)).toMatchObject({ detail: { cause: 'extension_of_slurm' } })
  // An administrator of the cluster has raised it.
  await say([job(name, { ...times, end_time: end + 3_600, time_limit: 300 })])
  await expect.poll(async () => (await get()).slurmEndsAt).toBe(new Date((end + 3_600) * 1000).toISOString())
  await say([job(name, { ...times, time_limit: { set: true, infinite: true, number: 0 } })])
  await expect.poll(async () => (await get()).slurmEndsAt).toBeNull()
})

test('a preempted session is told, has the grace time of Slurm, and ends before it is over', async () => {
  const { session, name } = await run()
  const warned = () => agent.requests('warn_kernel').map(({ at, isEnd }) => ({ at, isEnd }))
  const inSeconds = (seconds: number) => Math.round(Date.now() / 1000) + seconds
  const end = inSeconds(400)
  await say([job(name, { preempt_time: inSeconds(-20), end_time: end })])
  await expect.poll(warned).toEqual([{ at: new Date(end * 1000).toISOString(), isEnd: true }])
  await looks(2)
  expect((await berth.api.getSession({ params: { id: session.id } })).status).toBe('RUNNING')
  await say([job(name, { preempt_time: inSeconds(-20), end_time: inSeconds(10) })])
  await berth.reach(session.id, 'TERMINATED')
  expect((await berth.api.getSession({ params: { id: session.id } })).reason.cause).toBe('slurm_preempted')
})

test('a session that may be interrupted is told of a preemption, and continues on another allocation', async () => {
  const session = await berth.launch({ resources: ONE_GPU, interruptible: true })
  const name = await nameOf(session)
  await say([job(name)])
  await berth.reach(session.id, 'RUNNING')
  const inSeconds = (seconds: number) => Math.round(Date.now() / 1000) + seconds
  const get = () => berth.api.getSession({ params: { id: session.id } })
  const end = inSeconds(400)
  await say([job(name, { preempt_time: inSeconds(-20), end_time: end })])
  // Berth stops it 15 seconds before Slurm does.
  const at = new Date((end - 15) * 1000).toISOString()
  await expect
    .poll(() => agent.requests('warn_kernel').map(({ at: when, isEnd }) => [when, isEnd]))
    .toEqual([[at, undefined]])
  expect(await get()).toMatchObject({ status: 'RUNNING', interruptAt: at })
  await say([job(name, { preempt_time: inSeconds(-20), end_time: inSeconds(10) })])
  await expect.poll(() => linesOf('released')).toContain('7')
  await expect.poll(async () => (await linesOf('asked')).length).toBe(2)
  const second = await nameOf(session)
  expect(second.slice(-2)).toBe('-2')
  expect(await get()).toMatchObject({ status: 'PENDING', interruptions: 1, interruptAt: null, slurmEndsAt: null })
  await say([job(second, { job_id: 8, submit_time: 120, start_time: 120 })])
  await berth.reach(session.id, 'RUNNING')
  expect(await berth.timeline(session.id)).toEqual(
    expect.arrayContaining(['RUNNING interruption_announced', 'TERMINATING interrupted', 'PENDING interrupted']),
  )
})

test('a preemption that is called off leaves the session running, and its programs are told', async () => {
  const session = await berth.launch({ resources: ONE_GPU, interruptible: true })
  const name = await nameOf(session)
  await say([job(name)])
  await berth.reach(session.id, 'RUNNING')
  const end = Math.round(Date.now() / 1000) + 600
  await say([job(name, { preempt_time: end - 600, end_time: end })])
  const warned = () => agent.requests('warn_kernel').map(({ at }) => at)
  await expect.poll(warned).toHaveLength(1)
  await say([job(name)])
  await expect.poll(warned).toEqual([expect.any(String), null])
  expect(await berth.api.getSession({ params: { id: session.id } })).toMatchObject({
    status: 'RUNNING',
    interruptAt: null,
  })
  expect(await berth.timeline(session.id)).toContain('RUNNING interruption_called_off')
})

test.each([
  ['PREEMPTED', 'slurm_preempted'],
  ['OUT_OF_MEMORY', 'slurm_out_of_memory'],
  ['RUNNING', 'slurm_forgotten'],
])('why a job ended that is not listed any more is in the history of Slurm: %s', async (state, cause) => {
  const { session, name } = await run()
  await writeFile(join(directory, 'history'), `7|${process.getuid?.()}|root|${state}|${name}\n`)
  await say([])
  await berth.reach(session.id, 'TERMINATED')
  expect((await berth.api.getSession({ params: { id: session.id } })).reason.cause).toBe(cause)
})

test('a job that the history says was preempted while no manager looked is continued', async () => {
  const session = await berth.launch({ resources: ONE_GPU, interruptible: true })
  const name = await nameOf(session)
  await say([job(name)])
  await berth.reach(session.id, 'RUNNING')
  await writeFile(join(directory, 'history'), `7|${process.getuid?.()}|root|PREEMPTED|${name}\n`)
  await say([])
  await expect.poll(() => berth.timeline(session.id)).toContain('PENDING interrupted')
  await expect.poll(async () => (await linesOf('asked')).length).toBe(2)
})

test('a waiting session is not started with a choice that its group offers no more', async () => {
  const slurm = { offers: { qos: ['urgent'] } }
  const group = (options: object) => berth.api.updateResourceGroup({ params: { name: 'default' }, body: { options } })
  await group({ slurm })
  await berth.api.pauseScheduling()
  // A look in flight has not seen the pause.
  await looks(2)
  const session = await berth.launch({ resources: { cpu: '1', mem: '1 GiB' }, slurm: { qos: 'urgent' } })
  await group({})
  await berth.api.resumeScheduling()
  await expect.poll(() => berth.reasonOf(session.id)).toBe('allocation_refused')
  expect(await linesOf('asked')).toEqual([])
})

test('choices in Slurm are refused in a group that Berth runs', async () => {
  await berth.api.updateResourceGroup({ params: { name: 'default' }, body: { engine: 'berth' } })
  const refused = await refusal(berth.launch({ slurm: { timeLimitMinutes: 60 } }))
  expect(refused).toMatchObject({ code: 'bad_request', detail: { cause: 'slurm_elsewhere' } })
})

/** Stand-ins for the programs that start a command as another user: root has `runuser`, others `sudo`. */
async function standInForUsers(): Promise<void> {
  const as = 'user=; while [ "$1" != -- ]; do [ "$1" = -u ] && user=$2; shift; done; shift'
  for (const name of ['runuser', 'sudo'])
    await command(name, `${as}; echo "$user $(basename $1)" >> ${directory}/users; exec "$@"`)
  vi.stubEnv('PATH', `${directory}:${process.env['PATH'] ?? ''}`)
  await writeFile(join(directory, 'users'), '')
}

test('an account that an admin of the domain has made for an address has no user in Slurm until its person has a password of their own', async () => {
  await standInForUsers()
  const admin = await berth.addUser('head@example.org', { role: 'domain_admin' })
  const email = 'prof@example.org'
  const [made, chosen] = [`${USER_PASSWORD}-made`, `${USER_PASSWORD}-chosen`]
  const { id } = await admin.createUser({ body: { email, name: email, password: made } })
  const { token } = await apiOf(berth.url).login({
    body: { email, password: made, newPassword: chosen, kind: 'token' },
  })
  const prof = apiOf(berth.url, token ?? '')
  const resources = { cpu: '1', mem: '1 GiB' }
  const people = { people: { users: { [email]: 'prof' } } }
  const group = (slurm: object) =>
    berth.api.updateResourceGroup({ params: { name: 'default' }, body: { options: { slurm } } })
  await group({})
  await berth.api.pauseScheduling()
  const waiting = await berth.launch({ resources }, prof)
  await group(people)
  const refused = await refusal(berth.launch({ resources }, prof))
  expect(refused).toMatchObject({ code: 'bad_request', detail: { cause: 'slurm_person_doubtful' } })
  await berth.api.resumeScheduling()
  await expect.poll(() => berth.reasonOf(waiting.id)).toBe('allocation_refused')
  expect(await linesOf('users')).toEqual([])

  const link = await berth.api.createAccountLink({ params: { id }, body: { purpose: 'reset', inHand: true } })
  await apiOf(berth.url).resetPassword({
    body: { token: /[?&]token=([\w-]+)/.exec(link.url ?? '')?.[1] ?? '', password: `${USER_PASSWORD}-own` },
  })
  await expect.poll(() => linesOf('users')).toContain('prof salloc')
})

test("sessions of a project have its account, and are jobs of their owners' users in Slurm", async () => {
  await standInForUsers()
  const ada = await berth.addUser('ada@example.org')
  const eve = await berth.addUser('eve@elsewhere.org')
  const [project] = (await ada.me()).user.groups
  const projects = { [project?.id ?? '']: { account: 'speech' } }
  const slurm = { account: 'lab', projects, people: { mailDomain: 'example.org' } }
  await berth.api.updateResourceGroup({ params: { name: 'default' }, body: { options: { slurm } } })
  const resources = { cpu: '1', mem: '1 GiB' }
  const refused = await refusal(berth.launch({ resources }, eve))
  expect(refused).toMatchObject({ code: 'bad_request', detail: { cause: 'slurm_person_unknown' } })
  // Others do not learn who is whom.
  const [seen] = (await ada.listResourceGroups()).items.filter(({ name }) => name === 'default')
  expect(seen?.options.slurm).toEqual({ account: 'lab' })

  const session = await berth.launch({ resources }, ada)
  const name = await nameOf(session)
  expect((await linesOf('asked'))[0]).toMatch(/ --account=speech$/)
  expect(new Set(await linesOf('users'))).toEqual(new Set(['ada salloc']))
  // A job of this name that is another user's is not the session's.
  await say([job(name, { user_id: 2009, user_name: 'eve' })])
  await looks(3)
  expect((await berth.api.getSession({ params: { id: session.id } })).status).toBe('PENDING')
  // Meanwhile the request may count as lost, so that there is a newer one.
  const statusOf = async () => {
    await say([job(await nameOf(session), { user_id: 2001, user_name: 'ada' })])
    return (await berth.api.getSession({ params: { id: session.id } })).status
  }
  await expect.poll(statusOf).toBe('RUNNING')
  await berth.api.deleteSession({ params: { id: session.id } })
  await expect.poll(() => linesOf('users')).toContain('ada scancel')
  expect(await linesOf('released')).toContain('7')
})

test('a request of an earlier user is released also if it is granted after the map has changed', async () => {
  await standInForUsers()
  const as = (user: string) => {
    const slurm = { people: { users: { 'ida@example.org': user } } }
    return berth.api.updateResourceGroup({ params: { name: 'default' }, body: { options: { slurm } } })
  }
  const ida = await berth.addUser('ida@example.org')
  await as('ida')
  const session = await berth.launch({ resources: { cpu: '1', mem: '1 GiB' } }, ida)
  const first = await nameOf(session)
  await as('ida2')
  // Slurm has not answered with the request in time, so that there is another one.
  await using store = await openToRead({ ...berth.source, log: silentLog })
  await sql`update allocations set asked_at = now() - interval '1 hour' where session_id = ${session.id}`.execute(
    store.db,
  )
  await expect.poll(() => linesOf('users')).toContain('ida2 salloc')
  await say([job(first, { user_id: 2001, user_name: 'ida' })])
  await expect.poll(() => linesOf('users')).toContain('ida scancel')
})

test('a forecast says that Slurm decides', async () => {
  const body = { image: 'berth/python:3.13', resources: { cpu: '1', mem: '1 GiB' } }
  expect(await berth.api.whatIf({ body })).toMatchObject({ startsNow: false, reason: { cause: 'slurm_decides' } })
})

test('Slurm is asked only while a limit on a model would allow any GPU of the group', async () => {
  const limit = (gpus: string) =>
    berth.api.updateResourcePolicy({
      params: { name: 'default' },
      body: { gpuLimits: gpus === '' ? [] : [{ model: 'Test GPU', gpus }] },
    })
  await limit('1')
  const { session: first } = await run()
  const second = await launch()
  await expect.poll(() => berth.reasonOf(second.id)).toBe('user_policy')
  await looks(2)
  expect(await linesOf('asked')).toHaveLength(1)
  await berth.api.deleteSession({ params: { id: first.id } })
  await nameOf(second)
  await limit('')
})

test('one list at each look serves all sessions', async () => {
  for (let count = 0; count < 5; count++) await launch()
  await expect.poll(async () => (await linesOf('asked')).length).toBeGreaterThanOrEqual(5)
  await writeFile(join(directory, 'pings'), '')
  await command(
    'scontrol',
    `case $1 in show) cat ${directory}/nodes;; *) echo >> ${directory}/pings; [ ! -e ${directory}/away ];; esac`,
  )
  await looks(5)
  const [lists, pings] = await Promise.all(
    ['looks', 'pings'].map(async name => (await readFile(join(directory, name), 'utf8')).length),
  )
  // A look may be between its ping and its list while these are read.
  expect(lists).toBeLessThanOrEqual((pings ?? 0) + 1)
})

test('sessions whose GPUs Slurm cannot give keep nobody waiting, and one list of nodes at each look serves all', async () => {
  await writeFile(join(directory, 'nodes'), 'NodeName=elsewhere Gres=gpu:test:2\n')
  await berth.launch({ resources: ONE_GPU, gpu: { model: 'Test GPU' }, count: MOST_WAITING })
  const other = await launch()
  await nameOf(other)
  await writeFile(join(directory, 'shown'), '')
  await command(
    'scontrol',
    `case $1 in show) echo >> ${directory}/shown; cat ${directory}/nodes;; *) echo >> ${directory}/pings; [ ! -e ${directory}/away ];; esac`,
  )
  await writeFile(join(directory, 'pings'), '')
  await looks(3)
  const [shown, pings] = await Promise.all(
    ['shown', 'pings'].map(async name => (await readFile(join(directory, name), 'utf8')).length),
  )
  expect(shown).toBeLessThanOrEqual((pings ?? 0) + 1)
})

test('sessions whose requests Slurm refuses keep nobody waiting', async () => {
  const asks = `echo "$*" >> ${directory}/asked`
  await command('salloc', `${asks}; case "$*" in *gpu:2*) echo 'salloc: error: not available' >&2; exit 1;; esac`)
  await berth.launch({ resources: { ...ONE_GPU, 'cuda.device': '2' }, count: MOST_WAITING })
  await nameOf(await launch())
  await command('salloc', asks)
})

test('while scheduling is paused nothing is requested', async () => {
  await berth.api.pauseScheduling()
  const session = await launch()
  await expect.poll(() => berth.reasonOf(session.id)).toBe('scheduling_paused')
  await looks(2)
  expect(await linesOf('asked')).toEqual([])
  await berth.api.resumeScheduling()
  await nameOf(session)
})

test('a partition whose name could be an option, or is no name, is refused', async () => {
  for (const partition of ['gpu --uid=0', '-x', '', 'a'.repeat(200)]) {
    const body = { options: { slurm: { partition } } }
    const refused = await refusal(berth.api.updateResourceGroup({ params: { name: 'other' }, body }))
    expect(refused, partition).toMatchObject({ code: 'bad_request' })
  }
})
