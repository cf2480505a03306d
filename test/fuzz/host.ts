import { Agent } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOST_METHODS, pathOf } from '#proxy/contract'
import { ORIGIN_SECRET_HEADER } from '#manager/contract'
import { Victim } from '../integration/hostile/victim.ts'
import { httpApp, StandIn, tcpApp } from '../fixtures/proxy-stand-in.ts'
import { signInCookie } from '../fixtures/web-console.ts'
import { assertDocumented, send, spoiled } from './http.ts'
import { type Random } from './random.ts'
import { type FuzzTarget } from './target.ts'

const METHODS = Object.entries(HOST_METHODS).flatMap(([group, names]) =>
  Object.keys(names).map(name => ({ group, name })),
)
/** More than the sockets of agents and of the server itself need. */
const MORE_DESCRIPTORS = 120

/** The host API of the console's server, a process of its own, with a stand-in for the manager. */
export const hostTarget: FuzzTarget = {
  name: 'host',
  atOnce: 8,
  weight: 3,
  async start() {
    const stack = new AsyncDisposableStack()
    const manager = stack.use(
      await new StandIn([
        { app: tcpApp('sshd'), port: 9 },
        { app: httpApp('web'), port: 9 },
      ]).start(),
    )
    const directory = await mkdtemp(join(tmpdir(), 'berth-fuzz-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const victim = stack.use(
      await Victim.start('proxy/web/main.ts', {
        BERTH_DATA: directory,
        BERTH_PORT: '0',
        BERTH_MANAGER_URL: manager.url,
        BERTH_CONSOLE_DIR: directory,
        BERTH_SSH_DIR: join(directory, 'ssh'),
      }),
    )
    const port = Number(new URL(victim.ready.url as string).port)
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    stack.defer(() => agent.destroy())
    const before = await victim.descriptors()

    function headersOf(random: Random): Record<string, string> {
      const headers: Record<string, string> = {
        host: `localhost:${port}`,
        origin: `http://localhost:${port}`,
        'content-type': 'application/json',
        cookie: signInCookie(port),
        [ORIGIN_SECRET_HEADER]: manager.originSecret,
      }
      if (random.chance(0.2))
        headers[random.pick(Object.keys(headers))] = random
          .bytes(random.int(20))
          .toString('latin1')
          .replace(/[^\t\x20-\x7e\x80-\xff]/g, '.')
      if (random.chance(0.05)) Reflect.deleteProperty(headers, random.pick(Object.keys(headers).slice(1)))
      return headers
    }

    function argumentsOf(random: Random): unknown {
      const spec = {
        sessionId: random.chance(0.7) ? manager.session.id : random.text(),
        app: random.pick(['sshd', 'web', random.text()]),
        ...(random.chance(0.3) ? { port: random.pick([0, -1, 1, 65_536, 1.5, '80']) } : {}),
        ...(random.chance(0.3) ? { onPortTaken: random.pick(['random', 'fail', random.text()]) } : {}),
      }
      return random.chance(0.6) ? [spec, ...(random.chance(0.2) ? [random.json()] : [])] : random.json()
    }

    return {
      async input(random) {
        const { group, name } = random.pick(METHODS)
        const path = random.chance(0.9)
          ? pathOf(group, name)
          : `/host/${encodeURIComponent(random.text().toWellFormed())}/${name}`
        const method = random.chance(0.95) ? 'POST' : random.pick(['GET', 'PUT', 'DELETE', 'OPTIONS'])
        const body = spoiled(random, argumentsOf(random))
        const sent = { method, path, headers: headersOf(random), body }
        assertDocumented(sent, await send(agent, port, sent))
      },
      async check() {
        victim.assertAlive()
        if (victim.log.includes('a listener failed')) throw new Error(victim.log)
        const more = (await victim.descriptors()) - before
        if (more > MORE_DESCRIPTORS) throw new Error(`${more} more descriptors than at the start`)
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  },
}
