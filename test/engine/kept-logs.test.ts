import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOG_CUT } from '#agent/contract'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { busyboxImage, docker, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/** Logs that outlive their containers, on a real engine. */
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess
const LIMITS = { BERTH_AGENT_LOG_MIB: '2' }

beforeAll(async () => {
  await busyboxImage()
  manager = await startFakeManager()
  home = await createAgentHome()
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join(), ...LIMITS })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  await home[Symbol.asyncDispose]()
})

/** A kernel that has ended on its own after writing this many lines of 40 bytes. */
async function ended(lines: number) {
  const padded = `/opt/berth/bin/busybox awk 'BEGIN { for (i = 1; i <= ${lines}; i++) printf "line %034d\\n", i }'`
  const spec = aKernelSpec({ kind: 'batch', startupCommand: padded })
  await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  const state = () => manager.kernel(spec.kernelId)?.state.state
  await expect.poll(state).toBe('exited')
  return spec
}

async function wholeLog(kernelId: ReturnType<typeof aKernelSpec>['kernelId']) {
  let text = ''
  let isCut = false
  for (let part: number | undefined; ;) {
    const found = await manager.request('read_kept_log', { kernelId, ...(part === undefined ? {} : { part }) })
    text += gunzipSync(Buffer.from(found.packed, 'base64')).toString('utf8')
    isCut ||= found.truncated
    if (found.next === null) return { lines: text.trimEnd().split('\n'), isCut }
    part = found.next
  }
}
const line = (number: number) => `line ${String(number).padStart(34, '0')}`

test('the log of an ended session is kept whole, also across an end of the agent, and goes with nothing else', async () => {
  const { kernelId } = await ended(20_000)
  agent.kill('SIGKILL')
  await agent[Symbol.asyncDispose]()
  agent = await spawnAgent(home, LIMITS)
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
  await expect.poll(() => manager.kernel(kernelId)?.state.state).toBe('exited')
  const { logTail, exitCode } = await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
  expect([exitCode, logTail.startsWith(`${LOG_CUT}\n`)]).toEqual([0, true])
  const { lines, isCut } = await wholeLog(kernelId)
  expect([lines.length, lines[0], lines.at(-1), isCut]).toEqual([20_000, line(1), line(20_000), false])
  // The request is repeated if its reply was lost.
  await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
  expect((await wholeLog(kernelId)).lines).toHaveLength(20_000)
  const filters = { label: [`berth.manager=${manager.managerId}`] }
  expect(await docker.listContainers({ all: true, filters })).toEqual([])
})

test('of a long log the end is kept, and a short one needs no file', async () => {
  const [long, short] = await Promise.all([ended(150_000), ended(10)])
  for (const { kernelId } of [long, short]) await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
  const { lines, isCut } = await wholeLog(long.kernelId)
  expect([lines.at(-1), isCut]).toEqual([line(150_000), true])
  expect(lines.length).toBeGreaterThan(2 ** 21 / 40)
  expect(lines[0]).toMatch(/^line \d{34}$/)
  await expect(wholeLog(short.kernelId)).rejects.toMatchObject({ code: 'files_gone' })
  const kept = await readdir(join(home.data, 'agent/logs'))
  expect(kept).toContain(long.kernelId)
  expect(kept).not.toContain(short.kernelId)
})
