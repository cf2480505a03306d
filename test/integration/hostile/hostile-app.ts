import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Grant } from '#manager/contract'
import { httpApp, StandIn, tcpApp } from '../../fixtures/proxy-stand-in.ts'
import { exchange, HostileServer } from './peers.ts'
import { Victim } from './victim.ts'

/** A proxy in a process of its own, with a hostile program as the web app `web` and the TCP app `raw` of its session. */
export async function startAttack(stack: AsyncDisposableStack, inject: Grant['inject'] = null) {
  const app = stack.use(await HostileServer.start())
  const entries = [
    { app: httpApp('web'), port: app.port, inject },
    { app: tcpApp('raw'), port: app.port },
  ]
  const manager = stack.use(await new StandIn(entries).start())
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-hostile-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const victim = stack.use(
    await Victim.start('test/integration/hostile/proxy-child.ts', {
      MANAGER_URL: manager.url,
      DATA_DIR: directory,
      SESSION: manager.session.id,
    }),
  )
  return { app, manager, victim }
}

/** Opens the web app and admits one browser. @returns text for the heads of requests */
export async function letIn(victim: Victim) {
  const { url } = (await victim.ask({ open: 'web' })) as { url: string }
  const { host, port, pathname, search } = new URL(url)
  const welcome = await exchange(
    Number(port),
    `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  )
  const cookie = /set-cookie: ([^;]+)/i.exec(welcome.text)?.[1] ?? ''
  const head = (line = 'GET / HTTP/1.1', more = 'Connection: close\r\n') =>
    `${line}\r\nHost: ${host}\r\nCookie: ${cookie}\r\n${more}\r\n`
  return { port: Number(port), host, cookie, head }
}
