import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aKernelSpec, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { busyboxImage, removeByManager } from '../fixtures/docker.ts'
import { startFakeManager } from '../fixtures/fake-manager.ts'

test('a host whose health command fails starts no session and says why, and takes sessions once it passes', async () => {
  await busyboxImage()
  await using manager = await startFakeManager()
  await using home = await createAgentHome()
  const program = join(home.data, 'host-ok')
  const says = async (text: string) => {
    await writeFile(program, `#!/bin/sh\n${text}\n`)
    await chmod(program, 0o755)
  }
  await says('echo "no heartbeat of disk $1" >&2; exit 1')
  await using agent = await spawnAgent(home, {
    BERTH_JOIN: manager.join(),
    BERTH_HEALTH_COMMAND: JSON.stringify([program, 'two words']),
  })
  await agent.firstLine
  const start = (spec = aKernelSpec()) => manager.request('create_kernel', { spec, startWithinMs: 30_000 })
  const problem = () => manager.report?.host?.problem
  try {
    await expect.poll(problem).toContain('fails: no heartbeat of disk two words.')
    expect(manager.report?.host?.problemBy).toMatchObject({ cause: 'agent_unhealthy' })
    const spec = aKernelSpec()
    await expect(start(spec)).rejects.toMatchObject({
      code: 'kernel_create_failed',
      detail: { cause: 'host_unhealthy' },
    })
    expect(manager.report?.kernels).toEqual([])

    await says('exit 0')
    const begun = await start(spec)
    await expect.poll(problem).toBeNull()

    await says('exit 1')
    // The answer to a request that a manager repeats is that of the first one.
    expect(await start(spec)).toMatchObject({ containerId: begun.containerId })
    await expect.poll(() => manager.kernel(spec.kernelId)?.state.state).toBe('running')
    await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0, attempt: 1 })
  } finally {
    await agent[Symbol.asyncDispose]()
    await removeByManager(manager.managerId)
  }
})
