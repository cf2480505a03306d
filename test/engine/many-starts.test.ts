import { loadavg } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorld, type World } from '../fixtures/chaos-world.ts'
import { prepareStorm, raiseStorm, STORM } from '../fixtures/storm.ts'

/** The same test with a check a minute later is test/chaos/many-starts.test.ts. */
let world: World
beforeAll(async () => {
  world = await startWorld()
  await prepareStorm(world)
})
afterAll(() => world[Symbol.asyncDispose]())

test('sessions that are requested at once and fill a busy host all run at their first attempt', async () => {
  const storm = await raiseStorm(world, 160_000)
  expect(await storm.running()).toBe(STORM)
  console.info(`${STORM} sessions ran after ${Math.round(storm.tookMs / 1000)} s, load ${loadavg()[0]?.toFixed(0)}`)
  expect(await storm.attempts()).toEqual(Array.from({ length: STORM }, () => 1))
})
