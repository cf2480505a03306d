import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorld, type World } from '../fixtures/chaos-world.ts'

/** Many session starts while every process is killed. */
const COUNT = 20
let world: World

beforeAll(async () => {
  world = await startWorld()
  await world.up()
}, 300_000)
afterAll(() => (world as World | undefined)?.[Symbol.asyncDispose]())

test('of twenty sessions that are requested at once, with every process killed during their starts, each runs once', async () => {
  const resources = { cpu: '0.05', mem: '32m' }
  const { items } = await world.api.createSession({
    body: { image: 'berth/tiny:test', name: 'crowd', count: COUNT, resources },
  })
  expect(items).toHaveLength(COUNT)
  // Kill while some containers exist and others do not.
  await expect
    .poll(async () => (await world.kernelsOnEngine()).length, { timeout: 20_000, interval: 20 })
    .toBeGreaterThan(2)
  const servers = Object.values(await world.berth.servers())
  await world.engine.kill()
  for (const pid of servers) process.kill(pid, 'SIGKILL')
  await world.berth.kill()

  await world.engine.start()
  await world.up()
  await Promise.all(items.map(({ id }) => world.runs(id, 60_000)))
  const sessions = await Promise.all(items.map(({ id }) => world.show(id)))
  const kernels = sessions.map(session => session.kernels[0]?.id).toSorted()
  await expect.poll(() => world.kernelsOnEngine(), { timeout: 20_000 }).toEqual(kernels)
  await expect.poll(async () => (await world.networksOnEngine()).length, { timeout: 20_000 }).toBe(COUNT)
  const states = await world.engine.docker('ps', '--filter', 'label=berth.kernel', '--format', '{{.State}}')
  expect(states.split('\n')).toEqual(Array.from({ length: COUNT }, () => 'running'))
  await world.clear()
})
