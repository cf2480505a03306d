import { expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { type StackStart } from '#proxy/contract'
import { type EmbeddedStack } from './embedded-stack.ts'
import { createStackStarter, type StackStarterDeps } from './stack-start.ts'

const STACK = { endpoint: 'http://localhost:8400' } as EmbeddedStack

function aStarter(change: Partial<StackStarterDeps> = {}) {
  const seen: StackStart[] = []
  const starter = createStackStarter({
    checkDocker: () => Promise.resolve({ state: 'ready', command: null }),
    start: report => {
      report.onStep('manager', 'running')
      report.onLog('a line')
      return Promise.resolve(STACK)
    },
    onChange: now => seen.push(now),
    onIsolation: () => undefined,
    ...change,
  })
  return { starter, seen }
}

test('each step is shown as it begins, and all are done at the end', async () => {
  const { starter, seen } = aStarter()
  expect(await starter.start()).toBe(STACK)
  expect(seen.map(({ steps }) => `${steps.docker} ${steps.manager}`)).toContain('done running')
  expect(starter.now).toMatchObject({ state: 'ready', log: ['a line'], steps: { docker: 'done', agent: 'done' } })
})

test('without Docker nothing is started, and the check says how to mend it', async () => {
  let started = false
  const { starter } = aStarter({
    checkDocker: () => Promise.resolve({ state: 'missing', command: 'sudo apt-get install -y docker.io' }),
    start: () => {
      started = true
      return Promise.resolve(STACK)
    },
  })
  await expect(starter.start()).rejects.toMatchObject({ code: 'engine_unreachable' })
  expect(starter.now).toMatchObject({
    state: 'failed',
    steps: { docker: 'failed', manager: 'waiting' },
    docker: { command: 'sudo apt-get install -y docker.io' },
  })
  expect(started).toBe(false)
})

test('a failure marks its step and keeps its code; a second start begins from nothing', async () => {
  let fails = true
  const { starter } = aStarter({
    start: report => {
      report.onStep('console', 'running')
      report.onLog('Port 8400 is taken.')
      return fails ? Promise.reject(new AppError('port_in_use', { port: 8400 })) : Promise.resolve(STACK)
    },
  })
  await expect(starter.start()).rejects.toMatchObject({ code: 'port_in_use' })
  expect(starter.now).toMatchObject({
    state: 'failed',
    error: { code: 'port_in_use' },
    steps: { console: 'failed' },
    log: ['Port 8400 is taken.'],
  })
  fails = false
  await starter.start()
  expect(starter.now).toMatchObject({ state: 'ready', error: null, log: ['Port 8400 is taken.'] })
})

test('a start without an agent is ready, and says why there is none', async () => {
  const { starter } = aStarter({
    start: report => {
      report.onStep('agent', 'absent', new AppError('engine_already_managed', { owner: 'host-2' }))
      return Promise.resolve(STACK)
    },
  })
  await starter.start()
  expect(starter.now).toMatchObject({
    state: 'ready',
    steps: { agent: 'absent', console: 'done' },
    agentMissing: { code: 'engine_already_managed', detail: { owner: 'host-2' } },
  })
})
