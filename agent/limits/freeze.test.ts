import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { freeze, freezeBy, type Switch, switchOf, thawAbandoned, thawBy, unifiedSwitch } from './freeze.ts'

const ID = 'c0ffee'

test('a container is stopped by its own control group, of either version', () => {
  const old = ['memory', 'blkio', 'cpu,cpuacct', 'freezer']
    .map((name, i) => `${i + 1}:${name}:/docker/${ID}`)
    .join('\n')
  expect(switchOf(`${old}\n`, ID)).toMatchObject({
    file: `/sys/fs/cgroup/freezer/docker/${ID}/freezer.state`,
    on: 'FROZEN',
    off: 'THAWED',
  })
  expect(switchOf(`0::/system.slice/docker-${ID}.scope\n`, ID)).toMatchObject({
    file: `/sys/fs/cgroup/system.slice/docker-${ID}.scope/cgroup.freeze`,
    on: '1',
    off: '0',
  })
})

test('a process of another group, or of another host, stops nothing', async () => {
  expect(switchOf('0::/user.slice\n', ID)).toBeUndefined()
  const elsewhere = [...['memory', 'blkio', 'cpuacct'].map(name => `1:${name}:/docker/${ID}`), '2:freezer:/'].join('\n')
  expect(switchOf(elsewhere, ID)).toBeUndefined()
  expect(await freeze(0, ID)).toBeUndefined()
  expect(await freeze(process.pid, ID)).toBeUndefined()
})

/** A temporary folder with a file that plays freezer.state: each write takes effect at once, and stops nobody. */
let directory: string
let file: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-freeze-'))
  file = join(directory, 'freezer.state')
  await writeFile(file, 'THAWED')
})
afterEach(() => rm(directory, { recursive: true, force: true }))
const state = () => readFileSync(file, 'utf8')
const aSwitch = (isOn = () => state() === 'FROZEN'): Switch => ({ file, on: 'FROZEN', off: 'THAWED', isOn })

test('a container is stopped until the result is disposed of', async () => {
  const stopped = await freezeBy(aSwitch())
  expect(state()).toBe('FROZEN')
  await stopped?.[Symbol.asyncDispose]()
  expect(stopped).toBeDefined()
  expect(state()).toBe('THAWED')
})

test('a container whose processes do not stop in time goes on', async () => {
  const asked: string[] = []
  const never = () => {
    asked.push(state())
    return false
  }
  expect(await freezeBy(aSwitch(never), 20)).toBeUndefined()
  expect(asked).toContain('FROZEN')
  expect(state()).toBe('THAWED')
})

test('a container that somebody else has stopped stays so', async () => {
  await writeFile(file, 'FROZEN')
  const stopped = await freezeBy(aSwitch())
  await stopped?.[Symbol.asyncDispose]()
  expect(stopped).toBeDefined()
  expect(state()).toBe('FROZEN')
})

/** A process that stops the container, says so, and stays. */
async function agentThatStops(): Promise<ChildProcess> {
  const script = `
    const { freezeBy } = await import(${JSON.stringify(new URL('./freeze.ts', import.meta.url).href)})
    const { readFileSync } = await import('node:fs')
    const isOn = () => readFileSync(process.argv[1], 'utf8') === 'FROZEN'
    await freezeBy({ file: process.argv[1], on: 'FROZEN', off: 'THAWED', isOn })
    console.log('stopped')
    setInterval(() => undefined, 60_000)`
  const agent = spawn(process.execPath, ['--input-type=module', '-e', script, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(agent.stdout, 'data')
  return agent
}

test('a helper lets the container continue if the agent is killed', async () => {
  const agent = await agentThatStops()
  expect(state()).toBe('FROZEN')
  agent.kill('SIGKILL')
  await expect.poll(state).toBe('THAWED')
})

test('a container that was left stopped continues, unless the engine has paused it', async () => {
  const asked = vi.fn(() => Promise.resolve(true))
  expect(await thawBy(aSwitch(), asked)).toBe(false)
  expect(asked).not.toHaveBeenCalled()
  await writeFile(file, 'FROZEN')
  expect(await thawBy(aSwitch(), asked)).toBe(false)
  expect(state()).toBe('FROZEN')
  for (const left of ['FROZEN', 'FREEZING']) {
    await writeFile(file, left)
    expect(await thawBy(aSwitch(), () => Promise.resolve(false))).toBe(true)
    expect(state()).toBe('THAWED')
  }
  expect(await thawAbandoned({ pid: process.pid, id: ID }, () => Promise.resolve(false))).toBe(false)
})

const ROOT = '/sys/fs/cgroup'
const hierarchies = existsSync(`${ROOT}/cgroup.controllers`)
  ? [ROOT]
  : ['cpuacct', 'memory', 'blkio', 'freezer'].map(name => `${ROOT}/${name}`)

/** A process in a control group of its own; undefined where this process may make none. */
async function inOwnGroup(name: string): Promise<(AsyncDisposable & { readonly pid: number }) | undefined> {
  await using stack = new AsyncDisposableStack()
  try {
    for (const root of hierarchies) {
      await mkdir(join(root, name))
      stack.defer(() => rmdir(join(root, name)))
    }
    const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' })
    const pid = sleeper.pid ?? 0
    stack.defer(async () => {
      sleeper.kill('SIGKILL')
      if (sleeper.exitCode === null && sleeper.signalCode === null) await once(sleeper, 'exit')
    })
    for (const root of hierarchies) await writeFile(join(root, name, 'cgroup.procs'), String(pid))
    const kept = stack.move()
    return { pid, [Symbol.asyncDispose]: () => kept.disposeAsync() }
  } catch {
    return undefined
  }
}

test('a real control group is stopped, and continues; one that was left stopped continues too', async ({ skip }) => {
  const name = `berth-test-${randomUUID()}`
  await using group = await inOwnGroup(name)
  if (!group) return skip('this process may make no control groups')
  const found = switchOf(readFileSync(`/proc/${group.pid}/cgroup`, 'utf8'), name)
  {
    await using stopped = await freeze(group.pid, name)
    expect(stopped).toBeDefined()
    expect(found?.isOn()).toBe(true)
  }
  expect(found?.isOn()).toBe(false)
  await writeFile(found?.file ?? '', found?.on ?? '')
  await expect.poll(() => found?.isOn()).toBe(true)
  expect(await thawAbandoned({ pid: group.pid, id: name }, () => Promise.resolve(false))).toBe(true)
  await expect.poll(() => found?.isOn()).toBe(false)
})

/** Where version 2 is mounted: alone, or beside the hierarchies of version 1. */
const unifiedRoot = readFileSync('/proc/self/mounts', 'utf8')
  .split('\n')
  .map(line => line.split(' '))
  .find(([, , kind]) => kind === 'cgroup2')?.[1]

/** A process that counts, in a group below a new group of version 2; undefined where this process may make none. */
async function countingBelow(outer: string, directory: string) {
  await using stack = new AsyncDisposableStack()
  const inner = join(outer, 'inner')
  try {
    for (const group of [outer, inner]) {
      await mkdir(group)
      stack.defer(() => rmdir(group))
    }
    const counted = join(directory, 'counted')
    const counter = spawn('sh', ['-c', 'i=0; while :; do i=$((i+1)); echo $i > "$1"; done', 'count', counted])
    stack.defer(async () => {
      counter.kill('SIGKILL')
      if (counter.exitCode === null && counter.signalCode === null) await once(counter, 'exit')
    })
    await writeFile(join(inner, 'cgroup.procs'), String(counter.pid))
    const kept = stack.move()
    const count = () => Number(readFileSync(counted, 'utf8'))
    return { count, [Symbol.asyncDispose]: () => kept.disposeAsync() }
  } catch {
    return undefined
  }
}

test('a real control group of version 2 is stopped with those below it, and continues', async ({ skip }) => {
  const outer = join(unifiedRoot ?? '/nowhere', `berth-test-${randomUUID()}`)
  await using counting = await countingBelow(outer, directory)
  if (!counting) return skip('this process may make no control groups of version 2')
  const { count } = counting
  await expect.poll(() => existsSync(join(directory, 'counted')) && count()).toBeGreaterThan(10)
  const found = unifiedSwitch(outer)
  {
    await using stopped = await freezeBy(found)
    expect(stopped).toBeDefined()
    const before = readFileSync(join(directory, 'counted'), 'utf8')
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(readFileSync(join(directory, 'counted'), 'utf8')).toBe(before)
  }
  const before = count()
  await expect.poll(count).toBeGreaterThan(before)
  // An agent and its helper were killed together.
  await writeFile(found.file, found.on)
  await expect.poll(found.isOn).toBe(true)
  expect(await thawBy(found, () => Promise.resolve(true))).toBe(false)
  expect(await thawBy(found, () => Promise.resolve(false))).toBe(true)
  await expect.poll(found.isOn).toBe(false)
})
