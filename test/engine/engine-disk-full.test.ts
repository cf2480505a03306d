import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createEngineClient, fromEngine } from '../../agent/docker/engine-client.ts'
import { createEngineDisk } from '../../agent/faults/engine-disk.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { TINY_IMAGE } from '../fixtures/images.ts'

/** A real engine whose disk is full. */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
let small: string
let engine: Engine

beforeAll(async () => {
  small = await mkdtemp(join(tmpdir(), 'berth-test-disk-'))
  stack.defer(() => rm(small, { recursive: true, force: true }))
  await run('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', small])
  stack.defer(async () => void (await run('umount', ['-l', small])))
  vi.stubEnv('TMPDIR', small)
  engine = stack.use(await startEngine())
  vi.unstubAllEnvs()
  await engine.load(TINY_IMAGE)
})
afterAll(() => stack.disposeAsync())

test('a container that cannot be made on a full disk is a fault of the host, until there is room', async () => {
  const client = createEngineClient(engine.host)
  await client.negotiate()
  const disk = createEngineDisk({ engine: client, floorBytes: 2 ** 20, onChange: () => undefined })
  const create = () => client.calls.createContainer({ Image: TINY_IMAGE, Cmd: ['none'] })
  const filler = join(small, 'filler')
  await writeFile(filler, Buffer.alloc(128 * 2 ** 20)).catch(() => undefined)
  const error = await create().then(
    () => expect.unreachable(),
    (refused: unknown) => fromEngine(refused, 'kernel_create_failed'),
  )
  expect(error).toMatchObject({ code: 'disk_full', detail: { cause: 'docker_disk_full' } })
  expect(await disk.told(error)).toMatchObject({ code: 'disk_full', detail: { cause: 'host_disk_short' } })
  expect(disk.problem).toMatchObject({ cause: 'agent_engine_disk_full' })
  await rm(filler)
  await disk.check()
  expect(disk.problem).toBeNull()
  await create()
})
