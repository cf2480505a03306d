import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { busyboxImage, docker, execIn, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/** Mallory takes all that a session can take of what the host has once; Alice, beside her, goes on. */
const stack = new AsyncDisposableStack()
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess

beforeAll(async () => {
  await busyboxImage()
  manager = stack.use(await startFakeManager())
  stack.defer(() => removeByManager(manager.managerId))
  home = stack.use(await createAgentHome())
  agent = stack.use(await spawnAgent(home, { BERTH_JOIN: manager.join() }))
  await agent.firstLine
}, 60_000)
afterAll(() => stack.disposeAsync(), 60_000)

const session = async () => {
  const spec = aKernelSpec()
  const { containerId } = await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  return { kernelId: spec.kernelId, containerId }
}

const BASH = ['/opt/berth/bin/bash', '-c', 'PATH=$PATH:/opt/berth/applets; eval "$0"'] as const
const ENDED_BY_TIMEOUT = 143
/** Holds two terminals for a second, where it gets them. */
const takeOne = (containerId: string) =>
  execIn(containerId, '/opt/berth/bin/busybox', 'timeout', '1', '/opt/berth/bin/socat', 'PTY', 'PTY')

test('terminals: a session has its own 64, and leaves no volume behind', async () => {
  const [mallory, alice] = await Promise.all([session(), session()])
  const take =
    'for i in $(seq 50); do /opt/berth/bin/socat PTY PTY >/dev/null 2>&1 </dev/null & done; sleep 5; ls /dev/pts'
  const { stdout } = await execIn(mallory.containerId, ...BASH, take)
  expect(stdout.split('\n').filter(name => /^\d+$/.test(name))).toHaveLength(64)
  expect(await takeOne(mallory.containerId)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('No space left on device') as string,
  })
  expect((await takeOne(alice.containerId)).exitCode).toBe(ENDED_BY_TIMEOUT)

  const { Mounts } = await docker.getContainer(mallory.containerId).inspect()
  const volume = Mounts.find(({ Destination }) => Destination === '/dev/pts')?.Name ?? ''
  await manager.request('destroy_kernel', { kernelId: mallory.kernelId, graceMs: 0 })
  await expect(docker.getVolume(volume).inspect()).rejects.toMatchObject({ statusCode: 404 })
})
