import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorld, type World } from '../fixtures/chaos-world.ts'
import { prepareStorm, raiseStorm, STORM } from '../fixtures/storm.ts'

/** Longer than a manager's deadline for the confirmation of a start. */
const TAKEN_BACK_AFTER_MS = 65_000

let world: World
beforeAll(async () => {
  world = await startWorld()
  await prepareStorm(world)
}, 300_000)
afterAll(async () => {
  await world.clear()
  await world[Symbol.asyncDispose]()
}, 120_000)

test('sessions that fill a busy host at once say what they wait for, and no start is cancelled later', async () => {
  const storm = await raiseStorm(world, 160_000)
  expect(await storm.running()).toBe(STORM)
  const waiting = /^Starting soon: \d+ sessions? (is|are) being started on .+ before it\.$/
  expect([...storm.reasons].filter(text => waiting.test(text))).not.toEqual([])
  await delay(TAKEN_BACK_AFTER_MS)
  expect(await storm.running()).toBe(STORM)
  expect(await world.kernelsOnEngine()).toHaveLength(STORM + 1)
}, 300_000)
