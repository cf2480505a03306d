import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { execute, root } from '../fixtures/berth.ts'
import { startWorld, TRUE_WITHIN_MS, type World } from '../fixtures/chaos-world.ts'

/** Obstacles other than killed processes: no engine, a full disk, taken ports, a second start. */
const run = promisify(execFile)
let world: World

beforeAll(async () => {
  world = await startWorld()
}, 300_000)
afterAll(() => (world as World | undefined)?.[Symbol.asyncDispose]())

const numbers = (prefix: string) => [1, 2, 3].map(number => `${prefix}-${number}`)
const restartEngine = async () => {
  await world.engine.kill()
  await world.engine.start()
}
const expectNothingLeft = () =>
  expect
    .poll(async () => [await world.kernelsOnEngine(), await world.networksOnEngine()], { timeout: TRUE_WITHIN_MS })
    .toEqual([[], []])

/** All processes on that data directory, found by their command lines. */
async function processesOf(data: string): Promise<string[]> {
  const { stdout } = await run('ps', ['-eo', 'pid=,args=']).catch(() => ({ stdout: '' }))
  const byArguments = stdout.split('\n').filter(line => line.includes(data))
  const { stdout: byEnvironment } = await run('sh', [
    '-c',
    `grep -lsa "BERTH_DATA=${data}" /proc/[0-9]*/environ`,
  ]).catch(() => ({ stdout: '' }))
  return [...byArguments, ...byEnvironment.split('\n')].filter(line => line !== '')
}

/** `berth up` besides the one of the world, in the network of its engine. */
function up(data: string, ...flags: string[]) {
  const command = [
    ...world.engine.prefix,
    join(root, 'bin/berth'),
    'up',
    '--data',
    data,
    '--no-open',
    '--json',
    ...flags,
  ]
  return execute(command, { ...process.env, DOCKER_HOST: world.engine.host })
}

test('without an engine the console starts, sessions wait with a plain reason, and run as soon as the engine is there', async () => {
  await world.engine.kill()
  await world.up()
  const body = { image: 'berth/tiny:test' }
  // No agent has reported an image yet.
  await expect(world.api.createSession({ body })).rejects.toMatchObject({ code: 'image_not_found' })
  await world.engine.start()
  await expect.poll(async () => (await world.api.listImages()).items.length, { timeout: TRUE_WITHIN_MS }).toBe(1)

  await world.engine.kill()
  const waiting = await world.create('waits-for-engine')
  await expect
    .poll(async () => (await world.show(waiting.id)).reason, { timeout: TRUE_WITHIN_MS })
    .toMatchObject({ code: 'agents_unreachable' })
  await world.engine.start()
  await world.runs(waiting.id)
  await world.clear()
})

/** Starts Berth unless it runs, and ends sessions left by an earlier attempt. */
async function begin(): Promise<void> {
  try {
    await world.api.listSessions()
  } catch {
    await world.up()
  }
  await world.clear()
}

describe('a running Berth', () => {
  beforeAll(begin)
  afterEach(() => world.clear())

  test('after an engine is killed during starts, each session runs once', async () => {
    const created = await Promise.all(numbers('torn').map(name => world.create(name)))
    await expect.poll(() => world.networksOnEngine(), { timeout: TRUE_WITHIN_MS, interval: 20 }).not.toEqual([])
    await restartEngine()
    await Promise.all(created.map(({ id }) => world.runs(id, 20_000)))
    const running = await Promise.all(created.map(({ id }) => world.show(id)))
    const ids = running.map(session => session.kernels[0]?.id).toSorted()
    await expect.poll(() => world.kernelsOnEngine(), { timeout: TRUE_WITHIN_MS }).toEqual(ids)
    await expect.poll(async () => (await world.networksOnEngine()).length, { timeout: TRUE_WITHIN_MS }).toBe(3)
  })

  test('a second berth up on the same data directory opens the running one', async () => {
    const { code, stdout } = await up(world.data, '--port', '0')
    expect(code).toBe(0)
    const { pid, url } = JSON.parse(stdout) as { pid: number; url: string }
    expect({ pid, url }).toEqual({ pid: world.berth.pid, url: world.berth.url })
  })

  test('a taken port for the console is a coded error, and everything is stopped again', async () => {
    const data = await mkdtemp(join(tmpdir(), 'berth-test-port-'))
    try {
      const { port } = new URL(world.berth.url)
      const { code, stdout, stderr } = await up(data, '--port', port)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({ error: { code: 'port_in_use' } })
      expect(await processesOf(data)).toEqual([])
    } finally {
      await rm(data, { recursive: true, force: true })
    }
  })

  test('a taken port for a tunnel is a coded error that names another one', async () => {
    const session = await world.runs((await world.create('port-taken')).id)
    const { port } = new URL(world.berth.url)
    const { code, stderr } = await world.berth.cli('app', session.id, 'sshd', '--port', port, '--no-open', '--json')
    expect(code).toBe(1)
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: { code: string; detail: unknown } }
    expect(error).toMatchObject({
      code: 'port_in_use',
      detail: { port: Number(port), offered: expect.any(Number) as number },
    })
  })

  test('SIGTERM stops every process of Berth and no session, and the next start finds the sessions', async () => {
    const session = await world.runs((await world.create('survivor')).id)
    process.kill(world.berth.pid, 'SIGTERM')
    await expect.poll(() => processesOf(world.data), { timeout: TRUE_WITHIN_MS }).toEqual([])
    expect(await world.kernelsOnEngine()).toEqual([session.kernels[0]?.id])
    await world.up()
    const found = await world.runs(session.id)
    expect(found.kernels[0]?.containerId).toBe(session.kernels[0]?.containerId)
    expect(await world.berth.cli('ssh', session.id, 'echo alive')).toMatchObject({ code: 0, stdout: 'alive\n' })
  })
})

test('a full disk lets sessions wait, leaves nothing behind, and has no effect once there is space again', async () => {
  await begin()
  const scratch = await mkdtemp(join(world.data, 'small-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', scratch])
  try {
    await world.berth.kill()
    await world.up({ BERTH_AGENT_SCRATCH: scratch, BERTH_AGENT_SCRATCH_FLOOR_MIB: '64' })
    const filler = join(scratch, 'filler')
    await writeFile(filler, Buffer.alloc(64 * 2 ** 20))
    const waiting = await world.create('no-space')
    const reason = async () => (await world.show(waiting.id)).reason
    await expect.poll(reason, { timeout: TRUE_WITHIN_MS }).toMatchObject({ cause: 'no_host_can_start' })
    await expectNothingLeft()
    expect(await readdir(scratch)).toEqual(['filler'])
    expect(await readdir(join(world.data, 'agent/kernels'))).toEqual([])

    await rm(filler)
    // The waiting session starts on its own, after the agent has checked its disk again.
    await world.runs(waiting.id, 60_000)
    await world.clear()
  } finally {
    await world.berth.kill()
    await run('umount', ['-l', scratch])
  }
})
