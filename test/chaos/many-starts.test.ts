import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { TINY_IMAGE } from '../fixtures/docker.ts'
import { startWorld, type World } from '../fixtures/chaos-world.ts'

/** The image asks for 0.1 CPU: as many as fit beside the first one, at most the 28 of the report. */
const SESSIONS = Math.min(28, 10 * availableParallelism() - 1)
const BUSY_LOOPS = 2 * availableParallelism()
const RUNNING_WITHIN_MS = 160_000

let world: World
beforeAll(async () => {
  world = await startWorld()
  await world.up()
  // One that runs before: the images of the host are known then.
  const first = await vi.waitFor(() => world.create('first'), { timeout: 60_000, interval: 1_000 })
  await world.runs(first.id, 60_000)
}, 300_000)
afterAll(async () => {
  await world.clear()
  await world[Symbol.asyncDispose]()
}, 120_000)

/** Takes every core away from the engine, twice over. */
function load(): Disposable {
  const loops = Array.from({ length: BUSY_LOOPS }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  return { [Symbol.dispose]: () => loops.forEach(loop => loop.kill('SIGKILL')) }
}

test('sessions that are asked for at once and fill a busy host all run, in one attempt each', async () => {
  using _load = load()
  const resources = { cpu: '0.1', mem: '64m' }
  const { items } = await world.api.createSession({
    body: { image: TINY_IMAGE, name: 'storm', resources, count: SESSIONS },
  })
  expect(items).toHaveLength(SESSIONS)
  const ids = new Set(items.map(({ id }) => id))
  const reasons = new Set<string>()
  const statuses = async () => {
    const sessions = (await world.api.listSessions({ query: { limit: 100 } })).items.filter(({ id }) => ids.has(id))
    for (const { reason } of sessions) reasons.add(reason.message)
    const ended = sessions.filter(({ status }) => ['ERROR', 'TERMINATED', 'CANCELLED'].includes(status))
    if (ended.length > 0) throw new Error(ended.map(({ status, reason }) => `${status}: ${reason.message}`).join('\n'))
    return sessions.filter(({ status }) => status === 'RUNNING').length
  }
  const deadline = performance.now() + RUNNING_WITHIN_MS
  while ((await statuses()) < SESSIONS && performance.now() < deadline)
    await new Promise(resolve => setTimeout(resolve, 500))
  expect(await statuses()).toBe(SESSIONS)
  expect(
    [...reasons].filter(text => /^Starting soon: \d+ sessions? (is|are) being started on .+ before it\.$/.test(text)),
  ).not.toEqual([])
  // They stay: one that the agent takes back would be gone after the time in which a start has to be heard of.
  await new Promise(resolve => setTimeout(resolve, 65_000))
  expect(await statuses()).toBe(SESSIONS)
  expect(await world.kernelsOnEngine()).toHaveLength(SESSIONS + 1)
}, 240_000)
