import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KernelSpec } from '#agent/contract'
import { because } from '#manager/contract'
import { aKernelSpec, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, importImage, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/**
 * An agent on hosts that cannot start anything: a failed start reports it, and the host has a problem until a start would succeed. The same
 * message of the engine, caused by an image, is no fault of the host.
 */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
/** The image's `/sbin` is a file, so that no init can be mounted there. */
const UNFIT_IMAGE = `berth-test/unfit:${process.pid}`
/** Agents check faults every 15 s, and networks every 30 s. */
const within = { timeout: 120_000 }

let directory: string
let engine: Engine
let manager: FakeManager

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-faults-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  await Promise.all([busyboxImage(), importImage(UNFIT_IMAGE, { sbin: Buffer.from('a file') })])
  stack.defer(async () => void (await docker.getImage(UNFIT_IMAGE).remove()))
  engine = stack.use(await startEngine(await runtimeThatCanBreak()))
  await engine.load(TOOLBOX_IMAGE, BUSYBOX_IMAGE, UNFIT_IMAGE)
  manager = stack.use(await startFakeManager())
  const home = stack.use(await createAgentHome())
  control = join(home.data, 'agent')
  await mkdir(control, { recursive: true, mode: 0o700 })
  await run('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', control])
  stack.defer(async () => void (await run('umount', ['-l', control])))
  const environment = {
    BERTH_JOIN: manager.join(),
    DOCKER_HOST: engine.host,
    BERTH_AGENT_SCRATCH: join(directory, 'homes'),
  }
  const agent = stack.use(await spawnAgent(home, environment))
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
  // The toolbox is there before anything breaks.
  await start()
})
afterAll(() => stack.disposeAsync())

/** Directory of the agent, on a disk of its own. */
let control: string
const broken = () => join(directory, 'broken')

/** Settings of an engine whose runtime creates no container while a file exists. */
async function runtimeThatCanBreak() {
  const path = join(directory, 'runtime')
  const script = `#!/bin/sh
    case " $* " in *" create "*) [ ! -e '${broken()}' ] || { echo 'cgroups: no such device' >&2; exit 1; } ;; esac
    exec runc "$@"`
  await writeFile(path, script, { mode: 0o755 })
  return { runtimes: { breakable: { path } }, 'default-runtime': 'breakable' }
}

const start = (changes: Partial<KernelSpec> = {}) => {
  const spec = aKernelSpec(changes)
  return manager.request('create_kernel', { spec, startWithinMs: 60_000 })
}
const refusal = (changes: Partial<KernelSpec> = {}) =>
  start(changes).then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
const hostProblem = () => manager.report?.host?.problemBy?.cause
const networkProblem = () => manager.report?.network.problemBy?.cause

test('a runtime that starts nothing is a fault of the host until it works again', async () => {
  await writeFile(broken(), '')
  expect(await refusal()).toMatchObject({ code: 'kernel_create_failed', detail: because('host_starts_nothing') })
  await expect.poll(hostProblem).toBe('agent_starts_nothing')
  await rm(broken())
  await expect.poll(() => manager.report?.host?.problem, within).toBeNull()
  await start()
})

test('an image that does not start is a fault of the image', async () => {
  const error = await refusal({ image: { reference: UNFIT_IMAGE, digest: '' } })
  expect(error).toMatchObject({ code: 'kernel_create_failed', detail: { cause: 'docker_not_started' } })
  expect(manager.report?.host?.problem).toBeNull()
  expect(await engine.docker('ps', '-a', '--filter', 'name=berth-start-test', '-q')).toBe('')
})

test('a firewall that has lost the rules of the engine is a fault of the host until the engine makes them again', async () => {
  for (const words of ['-t nat -F', '-t nat -X', '-F', '-X'])
    await run('env', [...engine.prefix, 'iptables', ...words.split(' ')])
  const error = await refusal()
  expect(error).toMatchObject({ code: 'kernel_create_failed', detail: because('docker_refused_networks') })
  await expect.poll(networkProblem).toBe('docker_makes_no_networks')
  await engine.kill()
  await engine.start()
  await expect.poll(() => manager.report?.network.problem, within).toBeNull()
  await start()
})

test('a full disk of the agent is a fault of the host until there is room', async () => {
  const filler = join(control, 'filler')
  await writeFile(filler, Buffer.alloc(96 * 2 ** 20)).catch(() => undefined)
  expect(await refusal()).toMatchObject({ code: 'disk_full', detail: because('host_disk_short') })
  await expect.poll(hostProblem).toBe('agent_disk_short')
  await rm(filler)
  await expect.poll(() => manager.report?.host?.problem, within).toBeNull()
  await start()
})
