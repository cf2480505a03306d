import { mkdtemp, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Berth, execute, root, startBerth } from '../fixtures/berth.ts'
import { startWorld, type World } from '../fixtures/chaos-world.ts'
import { TINY_IMAGE } from '../fixtures/images.ts'
import { removeData } from '../fixtures/unmount-below.ts'

/** The steps of docs/admin/backup.md on a real engine with a running session, with the same commands. */
let world: World
let place: string
let restored: Berth | undefined
beforeAll(async () => {
  world = await startWorld()
  await world.up()
  place = await mkdtemp(join(tmpdir(), 'berth-test-'))
})
afterAll(async () => {
  await restored?.[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
  await removeData(place)
})

const PASSPHRASE = 'a long enough passphrase\n'
const commands = (config: string) => (args: string, input?: string) =>
  execute(
    [...world.engine.prefix, join(root, 'bin/berth'), ...args.split(' ')],
    { ...process.env, BERTH_CONFIG_DIR: join(place, config) },
    input,
  )

/** `berth up --data NEW`, using the first one's claim on the engine. */
async function upAgain(data: string, password: string): Promise<Berth> {
  const claim = `berth-test-${basename(world.data)}`
  const environment = { DOCKER_HOST: world.engine.host, BERTH_AGENT_CLAIM: claim }
  return await startBerth({ data, password, prefix: world.engine.prefix, environment })
}

test('a restore into a new directory adopts running sessions, and new ones start after the resume', async () => {
  const { id } = await world.runs((await world.create('kept')).id, 60_000)
  const containers = await world.kernelsOnEngine()
  // The server that runs with the earlier keys; without the folder of the agent they are lost.
  const enter = await world.berth.cli('ssh', 'kept', 'echo before')
  expect(enter).toMatchObject({ code: 0, stdout: 'before\n' })
  const { adminPassword: password, adminEmail } = world.berth
  const file = join(place, 'berth.backup')
  const berth = commands('cli')
  const backedUp = await berth(`backup ${file} --with-key --passphrase-stdin --data ${world.data}`, PASSPHRASE)
  expect(backedUp).toMatchObject({ code: 0 })
  await world.berth.kill()

  // Without the folder of the agent: it replaces the agent that this engine had.
  const bare = join(place, 'bare')
  const restore = (data: string) => berth(`restore ${file} --with-key --passphrase-stdin --data ${data}`, PASSPHRASE)
  expect(await restore(bare)).toMatchObject({ code: 0 })
  restored = await upAgain(bare, password)
  const login = (url: string) => berth(`login --endpoint ${url} --email ${adminEmail} --password-stdin`, password)
  expect(await login(restored.url)).toMatchObject({ code: 0 })
  const show = async () => JSON.parse((await berth(`session show ${id} --json`)).stdout) as unknown
  await expect.poll(show).toMatchObject({ status: 'RUNNING', reachable: true })
  expect(await world.kernelsOnEngine()).toEqual(containers)
  expect(await berth('ssh kept echo $HOME')).toMatchObject({ code: 0, stdout: '/home/work\n' })
  expect(await berth('admin resume')).toMatchObject({ code: 0 })
  const create = `session create --image ${TINY_IMAGE} --name fresh --cpu 0.1 --mem 64m --wait`
  expect(await berth(create)).toMatchObject({ code: 0 })
  await restored.kill()

  // With the folder, as in the documentation: the keys of the session are kept.
  const whole = join(place, 'whole')
  expect(await restore(whole)).toMatchObject({ code: 0 })
  await rename(join(world.data, 'agent'), join(whole, 'agent'))
  restored = await upAgain(whole, password)
  expect(await login(restored.url)).toMatchObject({ code: 0 })
  await expect.poll(show).toMatchObject({ status: 'RUNNING', reachable: true })
  expect(await berth('ssh kept echo alive')).toMatchObject({ code: 0, stdout: 'alive\n' })
})
