import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { FAST, startManagers } from '../../fixtures/managers.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

test('one of two managers requests the allocation; when it ends, the other one starts the session on it and requests none', async () => {
  await using stack = new AsyncDisposableStack()
  const allocations = { confirmMs: 300, retryMs: 10_000, appearMs: 600_000, pollMs: 200 }
  const managers = stack.use(await startManagers({ ...FAST, allocations }))
  const { path } = stack.use(await temporaryDirectory())
  await writeFile(join(path, 'jobs'), '{"jobs":[]}')
  // Stand-ins for Slurm's commands: the jobs are a file, and requests are written down with the manager that makes them.
  async function commandsOf(manager: string): Promise<string> {
    const { path: commands } = stack.use(await temporaryDirectory())
    const scripts = {
      scontrol: 'exit 0',
      squeue: `cat ${path}/jobs`,
      salloc: `echo "${manager} $*" >> ${path}/asked`,
      scancel: `echo "$1" >> ${path}/released`,
    }
    for (const [name, script] of Object.entries(scripts)) {
      await writeFile(join(commands, name), `#!/bin/sh\n${script}\n`)
      await chmod(join(commands, name), 0o755)
    }
    return commands
  }
  const running = {
    a: stack.use(await managers.start({ slurmCommands: await commandsOf('a') })),
    b: stack.use(await managers.start({ slurmCommands: await commandsOf('b') })),
  }
  const { path: home } = stack.use(await temporaryDirectory())
  const engine = scriptedEngine({ name: 'g1', capacity: { cpu: 4_000, mem: 16 * 2 ** 30 } })
  const { join: invitation } = await running.a.createJoinToken()
  const agent = stack.use(await startMeshAgent({ home, engine, join: invitation }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const apis = { a: (await managers.admin(running.a)).api, b: (await managers.admin(running.b)).api }
  await apis.a.updateResourceGroup({ params: { name: 'default' }, body: { engine: 'slurm' } })
  const body = { image: 'berth/python:3.13', resources: { cpu: '1', mem: '1 GiB' } }
  const [session] = (await apis.a.createSession({ body })).items
  const asked = async () => (await readFile(join(path, 'asked'), 'utf8').catch(() => '')).split('\n').filter(Boolean)
  await expect.poll(asked).toHaveLength(1)
  const [, first = '', name] = /^([ab]) .*--job-name=(\S+)/.exec((await asked())[0] ?? '') ?? []
  const other = first === 'a' ? 'b' : 'a'
  await running[first as 'a' | 'b'][Symbol.asyncDispose]()
  const node = (await apis[other].listAgents()).items[0]?.name
  const job = {
    job_id: 7,
    name,
    user_id: process.getuid?.(),
    job_state: ['RUNNING'],
    submit_time: 100,
    start_time: 110,
  }
  const resources = { nodes: { allocation: [{ name: node }] } }
  await writeFile(join(path, 'jobs'), JSON.stringify({ jobs: [{ ...job, job_resources: resources }] }))
  const statusOf = async () => (await apis[other].getSession({ params: { id: session?.id as never } })).status
  await expect.poll(statusOf).toBe('RUNNING')
  expect(await asked()).toHaveLength(1)
  expect(await readFile(join(path, 'released'), 'utf8').catch(() => '')).toBe('')
})
