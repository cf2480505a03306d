import { execFile } from 'node:child_process'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BUSYBOX_IMAGE, busyboxImage } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { TOOLBOX_IMAGE } from '../fixtures/images.ts'

/**
 * The rules as an ordinary user sets them who may use the engine: in containers of the toolbox, in the tables of an engine of its own. A
 * container in the agent's range stands for a session; the host has a service, and the address of a cloud's metadata service.
 */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
const SOURCES = join(import.meta.dirname, '../../agent')
/** A user without any rights, and the group that owns the engine's socket. */
const USER = ['--reuid=65534', '--regid=65534', '--groups=64999']
let engine: Engine

beforeAll(async () => {
  engine = stack.use(await startEngine())
  await busyboxImage()
  await Promise.all([BUSYBOX_IMAGE, TOOLBOX_IMAGE].map(image => engine.load(image)))
  const socket = engine.host.replace('unix://', '')
  await run('chmod', ['711', join(socket, '..')])
  await chown(socket, 0, 64_999)
  await engine.docker('network', 'create', '--subnet', '10.213.0.0/28', 'session')
  await engine.docker('run', '-d', '--init', '--name', 's0', '--network', 'session', BUSYBOX_IMAGE, 'sleep', 'infinity')
  await inHost('ip', 'addr', 'add', '169.254.169.254/32', 'dev', 'lo')
  const listen = ['httpd', '-p', '80', '-h', '/etc']
  await engine.docker('run', '-d', '--network', 'host', BUSYBOX_IMAGE, ...listen, '-f')
})
afterAll(() => stack.disposeAsync())

const inHost = (...words: string[]) => run('env', [...engine.prefix, ...words])
const fromSession = (address: string) =>
  engine.docker('exec', 's0', 'wget', '-q', '-T', '5', '-O', '-', `http://${address}/hostname`).then(
    () => 'open',
    (error: unknown) => (error as { stderr: string }).stderr,
  )

/** Runs one check of the agent's firewall as the user. @returns its state */
async function applyAsUser(image = TOOLBOX_IMAGE): Promise<unknown> {
  const script = `
    import { createEngineClient } from '${SOURCES}/docker/engine-client.ts'
    import { containerIptables } from '${SOURCES}/network/container-iptables.ts'
    import { startFirewall } from '${SOURCES}/network/firewall.ts'
    import { parseCidr } from '${SOURCES}/network/subnets.ts'
    const iptables = containerIptables({ engine: createEngineClient('${engine.host}'), image: '${image}' })
    const log = { info() {}, warn() {} }
    const range = parseCidr('10.213.0.0/16')
    const firewall = startFirewall({ range, deny: [], checkRange: async () => {}, iptables, log, onChange() {} })
    await firewall.apply()
    await firewall.apply()
    console.log(JSON.stringify(firewall.state))`
  const node = [process.execPath, '--input-type=module', '-e', script]
  return JSON.parse((await run('setpriv', [...USER, ...node])).stdout) as unknown
}

test('sessions of an ordinary user of the engine reach neither the host nor the metadata service', async () => {
  expect(await Promise.all(['10.213.0.1', '169.254.169.254'].map(fromSession))).toEqual(['open', 'open'])
  expect(await applyAsUser()).toEqual({ isolation: 'full', reason: null })
  const refused = expect.stringMatching(/refused/i) as string
  expect(await Promise.all(['10.213.0.1', '169.254.169.254'].map(fromSession))).toEqual([refused, refused])
  expect(await engine.docker('ps', '-aq', '--filter', 'name=berth-firewall-')).toBe('')
  const { stdout } = await inHost('iptables', '-S', 'BERTH-OUTPUT')
  expect(stdout).toContain('--uid-owner 65534')
})

test('a toolbox that is missing is named', async () => {
  const reason = { more: [{ cause: 'toolbox_image_missing' }] }
  expect(await applyAsUser('berth/none:1')).toMatchObject({ isolation: 'partial', reason })
})
