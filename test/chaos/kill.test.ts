import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Session, type SessionEvent } from '#manager/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { PYTHON_IMAGE as IMAGE, TOOLBOX_IMAGE } from '../fixtures/images.ts'

/**
 * Each server and the engine are killed with SIGKILL while one session runs and while another one is being started. After
 * that: nothing lost, nothing doubled, nothing orphaned, and the state is true within ten seconds.
 */
const TRUE_WITHIN_MS = 10_000

let engine: Engine
let berth: Berth
let round = 0

beforeAll(async () => {
  engine = await startEngine()
  await Promise.all([engine.load(TOOLBOX_IMAGE), engine.load(IMAGE)])
  berth = await startBerth({ prefix: engine.prefix, environment: { DOCKER_HOST: engine.host } })
}, 300_000)
afterAll(async () => {
  await berth[Symbol.asyncDispose]()
  await rm(berth.data, { recursive: true, force: true })
  await engine[Symbol.asyncDispose]()
})

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await berth.cli(...args, '--json')
  if (code !== 0) throw new Error(`berth ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}
const create = (name: string, ...more: string[]) =>
  json<Session>('session', 'create', '--image', IMAGE, '--name', name, '--cpu', '0.1', '--mem', '256m', ...more)
const show = (session: Session) => json<Session>('session', 'show', session.id)
const running = (session: Session) =>
  expect
    .poll(async () => (await show(session).catch(() => session)).status, { timeout: TRUE_WITHIN_MS, interval: 250 })
    .toBe('RUNNING')

/** Containers on the engine by kernel id, as often as they are there. */
async function kernelsOnEngine(): Promise<string[]> {
  const lines = await engine.docker(
    'ps',
    '-a',
    '--filter',
    'label=berth.kernel',
    '--format',
    '{{.Label "berth.kernel-id"}}',
  )
  return lines.split('\n').filter(line => line !== '')
}
async function networksOnEngine(): Promise<string[]> {
  const lines = await engine.docker('network', 'ls', '--filter', 'label=berth.manager', '--format', '{{.Name}}')
  return lines.split('\n').filter(line => line !== '')
}

let steady: Session
beforeEach(async () => {
  round++
  steady = await create(`steady-${round}`, '--wait')
  return async () => {
    for (const session of await json<Session[]>('session', 'ls')) await berth.cli('session', 'rm', session.id, '--wait')
    await expect.poll(kernelsOnEngine, { timeout: 30_000 }).toEqual([])
    await expect.poll(networksOnEngine, { timeout: 30_000 }).toEqual([])
  }
})

const killServer = (name: 'manager' | 'agent' | 'console') => async () => {
  process.kill((await berth.servers())[name], 'SIGKILL')
}
const killEngine = async () => {
  await engine.kill()
  await engine.start()
}

test.each([
  ['manager', killServer('manager')],
  ['agent', killServer('agent')],
  ['console', killServer('console')],
  ['engine', killEngine],
] as const)('after kill -9 of the %s no session is lost or doubled and the state is true', async (_name, kill) => {
  const before = await show(steady)
  const starting = await create(`starting-${round}`)
  await kill()

  await running(starting)
  const after = await show(steady)
  expect(after.status).toBe('RUNNING')
  expect(after.kernels[0]?.containerId).toBe(before.kernels[0]?.containerId)
  const expected = [steady, starting].map(session => session.kernels[0]?.id)
  await expect
    .poll(async () => (await kernelsOnEngine()).toSorted(), { timeout: TRUE_WITHIN_MS })
    .toEqual(expected.toSorted())
  await expect.poll(async () => (await networksOnEngine()).length, { timeout: TRUE_WITHIN_MS }).toBe(2)
  const { code, stdout } = await berth.cli('ssh', steady.name, 'echo alive')
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'alive\n' })
})

test('a container that somebody removed while the manager was down ends as container_gone', async () => {
  process.kill((await berth.servers()).manager, 'SIGKILL')
  await engine.docker('rm', '-f', steady.kernels[0]?.containerId ?? '')
  await expect
    .poll(async () => (await show(steady).catch(() => steady)).status, { timeout: TRUE_WITHIN_MS })
    .toBe('TERMINATED')
  const events = await json<SessionEvent[]>('session', 'events', steady.id)
  expect(events.at(-1)?.reason.code).toBe('container_gone')
})

test('kill -9 of everything, then a new start: the sessions are there and usable', async () => {
  const data = berth.data
  await berth.kill()
  expect(await kernelsOnEngine()).toHaveLength(1)
  berth = await startBerth({
    data,
    prefix: engine.prefix,
    environment: { DOCKER_HOST: engine.host },
    password: berth.adminPassword,
  })
  await running(steady)
  expect(await berth.cli('ssh', steady.name, 'echo alive')).toMatchObject({ code: 0, stdout: 'alive\n' })
})
