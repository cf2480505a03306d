import { type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { type Agent } from '#manager/contract'
import { createAgentHome } from '../fixtures/agent-process.ts'
import { createCli } from '../fixtures/cli.ts'
import { TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { startTestManager } from '../fixtures/manager.ts'

test('commands add, pause, resume and forget a host', async () => {
  await using stack = new AsyncDisposableStack()
  const manager = stack.use(await startTestManager())
  const cli = stack.use(await createCli())
  const home = stack.use(await createAgentHome())
  const berth = (...args: string[]) => cli.run(args)
  const listed = async () => JSON.parse((await berth('admin', 'agent', 'ls', '--json')).out) as Agent[]
  await cli.signIn(manager.url)
  await berth('admin', 'resource-group', 'create', 'lab')

  const { out: joinString } = await berth('admin', 'agent', 'join-token', '--resource-group', 'lab')
  const agent = cli.start(['agent', '--join', joinString.trim()], {
    BERTH_DATA: home.data,
    BERTH_AGENT_CLAIM: home.claimVolume,
    BERTH_AGENT_NAME: 'lab-nine',
    BERTH_TOOLBOX_IMAGE: TOOLBOX_IMAGE,
  })
  stack.defer(async () => {
    if (agent.exitCode !== null) return
    agent.kill('SIGTERM')
    await once(agent, 'close')
  })
  const line = await firstLineOf(agent)
  expect(JSON.parse(line)).toMatchObject({ ready: 'agent' })
  expect(await listed()).toMatchObject([
    { name: 'lab-nine', resourceGroup: 'lab', status: 'CONNECTED', schedulable: true },
  ])

  expect((await berth('admin', 'agent', 'pause', 'lab-nine')).out).toMatch(/lab-nine +lab +CONNECTED, paused/)
  expect(await listed()).toMatchObject([{ schedulable: false }])
  expect((await berth('admin', 'agent', 'resume', 'lab-nine')).out).toMatch(/lab-nine +lab +CONNECTED +/)
  expect(await berth('admin', 'agent', 'pause', 'nobody')).toMatchObject({ code: 4 })
  expect((await berth('agent', '--help')).out).toContain('--join')

  // The agent may have ended before the command has.
  const closed = once(agent, 'close')
  expect((await berth('admin', 'agent', 'forget', 'lab-nine')).code).toBe(0)
  const [code] = (await closed) as [number]
  expect(code).toBe(3)
  expect(await listed()).toEqual([])
})

/** @throws with the error output, if the agent ends before it prints a line */
async function firstLineOf(agent: ChildProcessWithoutNullStreams): Promise<string> {
  const complaints: string[] = []
  agent.stderr.on('data', (chunk: Buffer) => complaints.push(chunk.toString()))
  const ended = once(agent, 'close').then(() => {
    throw new Error(`the agent ended: ${complaints.join('')}`)
  })
  const [line] = (await Promise.race([once(createInterface({ input: agent.stdout }), 'line'), ended])) as [string]
  return line
}
