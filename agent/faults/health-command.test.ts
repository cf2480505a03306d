import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createHealthCheck, type HealthCheck } from './health-command.ts'

const log = { info() {}, warn() {} }
let directory: string
let now: number
let changes: number
let health: HealthCheck

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-health-'))
  now = 0
  changes = 0
})
afterEach(async () => {
  await health[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const script = async (text: string) => {
  const path = join(directory, 'health')
  await writeFile(path, `#!/bin/sh\necho x >> '${path}.runs'\n${text}\n`)
  await chmod(path, 0o755)
  return path
}
const runs = async () => (await readFile(join(directory, 'health.runs'), 'utf8').catch(() => '')).length / 2

async function aCheck(text: string, timeoutMs = 10_000): Promise<HealthCheck> {
  const words = [await script(text), 'a word with spaces; and $(no shell)']
  health = createHealthCheck({ words, intervalMs: 300_000, timeoutMs, onChange: () => changes++, log, now: () => now })
  return health
}

test('a command that fails is a fault of the host with the end of its output, and the host returns when it passes', async () => {
  await aCheck('echo "first"; printf "\\033[31mdisk sda\\007 is failing\\033[0m\\n" >&2; exit 3')
  await health.check()
  expect(health.problem).toMatchObject({ cause: 'agent_unhealthy', values: { text: 'first / disk sda is failing' } })
  await expect(health.beforeStart()).rejects.toMatchObject({
    code: 'kernel_create_failed',
    detail: { cause: 'host_unhealthy' },
  })
  expect(changes).toBe(1)
  await script('exit 0')
  now += 60_000
  await health.check()
  expect([health.problem, changes]).toEqual([null, 2])
  await health.beforeStart()
})

test('the words of the command reach it as they are', async () => {
  await aCheck('echo "$1" >&2; exit 1')
  await health.check()
  expect(health.problem?.why).toContain('a word with spaces; and $(no shell)')
})

test('sessions that start together are checked once, and a result does not count for a later one', async () => {
  await aCheck('exit 0')
  await Promise.all([health.beforeStart(), health.beforeStart(), health.check()])
  expect(await runs()).toBe(1)
  now += 4_000
  await health.beforeStart()
  await health.check()
  expect(await runs()).toBe(1)
  now += 4_000
  await health.beforeStart()
  expect(await runs()).toBe(2)
})

test('a command that does not end is killed with all that it has started', async () => {
  const child = join(directory, 'child')
  await aCheck(`echo "looking"; sleep 1000 & echo $! > '${child}'; wait`, 500)
  await health.check()
  expect(health.problem?.why).toContain('no result within 0.5 s: looking')
  const pid = Number(await readFile(child, 'utf8'))
  await expect.poll(() => stateOf(pid)).toMatch(/^$|Z/)
})

test('programs that a command leaves behind are ended, also when it passes', async () => {
  const child = join(directory, 'child')
  await aCheck(`sleep 1000 & echo $! > '${child}'`)
  await health.check()
  expect(health.problem).toBeNull()
  const pid = Number(await readFile(child, 'utf8'))
  await expect.poll(() => stateOf(pid)).toMatch(/^$|Z/)
})

test('while a command that cannot be killed is there, its failure stands and no other is started', async () => {
  let group = 0
  health = createHealthCheck({
    words: [await script('exec sleep 1000')],
    intervalMs: 1,
    timeoutMs: 200,
    onChange: () => changes++,
    log,
    now: () => (now += 60_000),
    killGroup: pid => (group = pid),
  })
  await health.check()
  await health.check()
  await expect(health.beforeStart()).rejects.toThrow()
  expect(await runs()).toBe(1)
  expect(health.problem?.why).toContain('no result within 0.2 s')
  await script('exit 0')
  process.kill(-group, 'SIGKILL')
  await expect.poll(() => health.check().then(() => health.problem)).toBeNull()
})

test('a program that cannot be run fails', async () => {
  health = createHealthCheck({
    words: [join(directory, 'nothing')],
    intervalMs: 1,
    timeoutMs: 1_000,
    onChange: () => changes++,
    log,
  })
  await health.check()
  expect(health.problem?.why).toContain('ENOENT')
})

test('a failure without output is told by the exit code or the signal', async () => {
  await aCheck('exit 7')
  await health.check()
  expect(health.problem?.why).toContain('exit code 7')
  await script('kill -9 $$')
  await expect(health.beforeStart()).rejects.toThrow()
  expect(health.problem?.why).toContain('signal SIGKILL')
})

const stateOf = async (pid: number) =>
  /^State:\s+(\S)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))?.[1] ?? ''
