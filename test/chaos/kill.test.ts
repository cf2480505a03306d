import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { startWorld, TRUE_WITHIN_MS, type World } from '../fixtures/chaos-world.ts'

/**
 * Each server and the engine are killed with SIGKILL while one session runs and while another one is being started. After that, nothing is
 * lost, duplicated or orphaned, and the state is correct within ten seconds.
 */
let world: World
let round = 0
let steady: Session

beforeAll(async () => {
  world = await startWorld()
  await world.up()
}, 300_000)
afterAll(() => (world as World | undefined)?.[Symbol.asyncDispose]())

beforeEach(async () => {
  round++
  steady = await world.runs((await world.create(`steady-${round}`)).id, 20_000)
  return () => world.clear()
})

const isAlive = (session: Session) =>
  expect(world.berth.cli('ssh', session.id, 'echo alive')).resolves.toEqual({ code: 0, stdout: 'alive\n', stderr: '' })
const containerOf = (session: Session) => session.kernels[0]?.containerId ?? ''
const killServer = (name: 'manager' | 'agent' | 'console') => async () => {
  process.kill((await world.berth.servers())[name], 'SIGKILL')
}
const killEngine = async () => {
  await world.engine.kill()
  await world.engine.start()
}
const killEverything = async () => {
  await world.berth.kill()
  await world.up()
}

test.each([
  ['manager', killServer('manager')],
  ['agent', killServer('agent')],
  ['console', killServer('console')],
  ['engine', killEngine],
  ['whole of Berth', killEverything],
] as const)('after kill -9 of the %s no session is lost or duplicated, and statuses are true', async (_name, kill) => {
  const starting = await world.create(`starting-${round}`)
  await kill()

  await world.runs(starting.id)
  const after = await world.show(steady.id)
  expect(after.status).toBe('RUNNING')
  expect(containerOf(after)).toBe(containerOf(steady))
  const expected = [steady, starting].map(session => session.kernels[0]?.id).toSorted()
  await expect.poll(() => world.kernelsOnEngine(), { timeout: TRUE_WITHIN_MS }).toEqual(expected)
  await expect.poll(async () => (await world.networksOnEngine()).length, { timeout: TRUE_WITHIN_MS }).toBe(2)
  await isAlive(steady)
})

test('a container that was removed while the manager was down ends as container_gone, and its network is removed', async () => {
  await killServer('manager')()
  await world.engine.docker('rm', '-f', containerOf(steady))
  await expect.poll(() => world.networksOnEngine(), { timeout: TRUE_WITHIN_MS }).toEqual([])
  await expect
    .poll(async () => (await world.show(steady.id).catch(() => steady)).status, { timeout: TRUE_WITHIN_MS })
    .toBe('TERMINATED')
  const { items } = await world.api.listSessionEvents({ params: { id: steady.id } })
  expect(items.at(-1)?.reason.code).toBe('container_gone')
})
