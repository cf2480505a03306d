import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import ssh2 from 'ssh2'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { busyboxImage, docker, execIn, removeByManager, tinyImage, TINY_IMAGE } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

let manager: FakeManager
let home: AgentHome
let agent: AgentProcess

beforeAll(async () => {
  await Promise.all([busyboxImage(), tinyImage()])
})

beforeEach(async () => {
  manager = await startFakeManager()
  home = await createAgentHome()
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join() })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})

afterEach(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  await home[Symbol.asyncDispose]()
})

const create = (spec = aKernelSpec(), startWithinMs = 60_000) =>
  manager.request('create_kernel', { spec, startWithinMs })

describe('a session', () => {
  test('is created, opened by SSH with its own key, and leaves nothing behind', async () => {
    const spec = aKernelSpec()
    const { containerId, ssh } = await create(spec)
    expect(await execIn(containerId, 'id', '-u')).toEqual({ stdout: '1000\n', exitCode: 0 })
    await expect.poll(() => manager.kernel(spec.kernelId)?.state.state).toBe('running')

    await manager.request('start_app', { kernelId: spec.kernelId, app: 'sshd', timeoutMs: 20_000 })
    const inspection = await docker.getContainer(containerId).inspect()
    const address = Object.values(inspection.NetworkSettings.Networks)[0]!.IPAddress
    const hostKey = ssh.hostKey.split(' ')[1]!
    const output = await sshExec({ address, privateKey: ssh.privateKey, hostKey }, 'echo $GREETING-$FOO-$(id -un)')
    expect(output).toBe('hello-bar-work\n')

    const reply = await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 2000 })
    expect(reply.exitCode).toBe(143)
    const filters = { label: [`berth.manager=${manager.managerId}`] }
    expect(await docker.listContainers({ all: true, filters })).toEqual([])
    expect(await docker.listNetworks({ filters })).toEqual([])
    await expect.poll(() => manager.report?.kernels).toEqual([])
  })
})

interface SshTarget {
  readonly address: string
  readonly privateKey: string
  readonly hostKey: string
}

function sshExec({ address, privateKey, hostKey }: SshTarget, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client()
    client.on('error', reject)
    client.on('ready', () => {
      client.exec(command, (error, stream) => {
        if (error) return reject(error)
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('close', () => {
          client.end()
          resolve(Buffer.concat(chunks).toString())
        })
      })
    })
    client.connect({
      host: address,
      port: 2222,
      username: 'work',
      privateKey,
      hostVerifier: (key: Buffer) => key.toString('base64') === hostKey,
    })
  })
}
