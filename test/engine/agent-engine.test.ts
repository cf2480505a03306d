import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

let engine: Engine
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess

beforeAll(async () => {
  await busyboxImage()
  engine = await startEngine()
  await engine.load(TOOLBOX_IMAGE)
  await engine.load(BUSYBOX_IMAGE)
  manager = await startFakeManager()
  home = await createAgentHome()
  // Runs in this test's network, where the manager is: no container is dialled here.
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join(), DOCKER_HOST: engine.host })
  await agent.firstLine
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
})

const reachable = () => manager.report?.engine.reachable
/** Whether a process exists; a zombie does, until its parent has noticed. */
const isThere = (pid: number) => existsSync(`/proc/${pid}`)
const within = { timeout: 120_000 }

test('kill -9 of the engine ends no session, and the agent finds the sessions afterwards', async () => {
  await expect.poll(reachable, within).toBe(true)
  const spec = aKernelSpec()
  const { containerId } = await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  const noticesBefore = manager.notices.length
  await engine.kill()
  await expect.poll(reachable, within).toBe(false)
  // The last known state is still reported, but marked as not current.
  expect(manager.kernel(spec.kernelId)?.state).toMatchObject({ state: 'running', containerId })
  const impossible = manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0 })
  await expect(impossible).rejects.toMatchObject({ code: 'engine_unreachable' })
  await engine.start()
  await expect.poll(reachable, within).toBe(true)
  expect(manager.kernel(spec.kernelId)?.state).toMatchObject({ state: 'running', containerId })
  expect(manager.notices.slice(noticesBefore)).toEqual([])
  await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0 })
  expect(await engine.docker('ps', '-aq')).toBe('')
})

test('a session that ended with the engine is told apart from one that ended by itself', async () => {
  await expect.poll(reachable, within).toBe(true)
  const lost = aKernelSpec()
  const ended = aKernelSpec({ startupCommand: 'while [ ! -e go ]; do sleep 0.1; done; exit 4' })
  const [one, two] = await Promise.all(
    [lost, ended].map(spec => manager.request('create_kernel', { spec, startWithinMs: 60_000 })),
  )
  const pidOf = async (id: string) => Number(await engine.docker('inspect', '-f', '{{.State.Pid}}', id))
  const [pid, other] = [await pidOf(one!.containerId), await pidOf(two!.containerId)]
  await engine.kill()
  await expect.poll(reachable, within).toBe(false)
  // Both end while no engine runs: an engine that dies while recording an end forgets the exit code.
  process.kill(pid, 'SIGKILL')
  await writeFile(join(home.data, 'agent/scratch', ended.kernelId, 'go'), '')
  for (const each of [pid, other]) await expect.poll(() => isThere(each), within).toBe(false)
  await engine.start()
  await expect.poll(reachable, within).toBe(true)
  const state = (kernelId: string) => expect.poll(() => manager.kernel(kernelId)?.state, within)
  await state(lost.kernelId).toMatchObject({ state: 'exited', engineRestarted: true })
  await state(ended.kernelId).toMatchObject({ state: 'exited', exitCode: 4, engineRestarted: false })
})
