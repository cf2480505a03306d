import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Berth, execute, type Outcome, startBerth } from '../fixtures/berth.ts'
import { addressOf, docker } from '../fixtures/docker.ts'

/** `berth ssh` and its Host block report within 15 seconds (longer on a slow and busy machine; without a limit, never) that a session cannot be reached. */
const run = promisify(execFile)
const TOLD_WITHIN_MS = 60_000
let berth: Berth
let containerId: string
let undo: (() => Promise<unknown>) | undefined
beforeAll(async () => {
  berth = await startBerth()
  const flags = ['--image', 'berth/python:3.13', '--name', 'far-away', '--cpu', '0.5', '--mem', '256m', '--wait']
  expect(await berth.cli('session', 'create', ...flags)).toMatchObject({ code: 0 })
  expect(await berth.cli('ssh', 'far-away', '--', 'echo there')).toMatchObject({ stdout: 'there\n' })
  const [session] = (await (await berth.api()).listSessions({})).items
  containerId = session?.kernels[0]?.containerId ?? ''
})
afterEach(async () => {
  await undo?.()
  undo = undefined
})
afterAll(() => berth[Symbol.asyncDispose]())

async function timed(work: () => Promise<Outcome>): Promise<Outcome> {
  const startedAt = performance.now()
  const outcome = await work()
  expect(performance.now() - startedAt).toBeLessThan(TOLD_WITHIN_MS)
  return outcome
}
const freeze = async () => {
  const container = docker.getContainer(containerId)
  await container.pause()
  undo = () => container.unpause()
}

test('a frozen SSH server accepts connections and says nothing: berth ssh and a Host block fail within 15 seconds', async () => {
  const config = join(berth.data, 'ssh-config')
  await writeFile(config, (await berth.cli('ssh-config', 'far-away')).stdout)
  await freeze()
  const [ssh, hostBlock] = await Promise.all([
    timed(() => berth.cli('ssh', 'far-away', '--', 'true')),
    timed(() => execute(['ssh', '-F', config, 'berth-far-away', 'true'], process.env)),
  ])
  expect(ssh.code).toBe(255)
  expect(ssh.stderr).toContain('berth: The session did not answer within 15 seconds')
  expect(hostBlock.code).toBe(255)
})

test('a container that drops packets makes berth scp fail, with the reason', async () => {
  const rule = ['OUTPUT', '-d', await addressOf(containerId), '-j', 'DROP']
  await run('iptables', ['-I', ...rule])
  undo = () => run('iptables', ['-D', ...rule])
  const { code, stderr } = await timed(() => berth.cli('scp', 'far-away', '/etc/hostname', ':'))
  expect(code).toBe(255)
  expect(stderr).toContain('berth: The app did not start: The app did not accept the connection in time.')
})

test('a hanging agent makes berth ssh fail, with the reason', async () => {
  const { agent } = await berth.servers()
  process.kill(agent, 'SIGSTOP')
  undo = () => Promise.resolve(process.kill(agent, 'SIGCONT'))
  const { code, stderr } = await timed(() => berth.cli('ssh', 'far-away', '--', 'true'))
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/berth: .*(not connected|did not answer)/)
})
