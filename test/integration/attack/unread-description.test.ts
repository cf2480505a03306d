import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { ADMIN, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { Victim } from '../hostile/victim.ts'

/**
 * Manager and console as they are: a stranger asks for the description of the API with `Upgrade: websocket`, and reads nothing. The whole
 * answer leaves the manager for the buffers between the two, so no deadline of the manager ends it; the console has none for it.
 */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const MANY = 500
const MIB = 2 ** 20
/** Pages of memory of all TCP sockets of the computer. */
const tcpPages = async () => Number(/^TCP: .* mem (\d+)/m.exec(await readFile('/proc/net/sockstat', 'utf8'))?.[1])

test('answers that a stranger does not read end after five minutes', { timeout: 600_000, retry: 0 }, async () => {
  const { url: databaseUrl } = stack.use(await startDatabase())
  const { path } = stack.use(await temporaryDirectory())
  const common = { BERTH_DATA: path, BERTH_PORT: '0' }
  const ofManager = { ...common, DATABASE_URL: databaseUrl, BERTH_ADMIN_PASSWORD: ADMIN.password }
  const manager = stack.use(await Victim.start('manager/main.ts', ofManager))
  const consoleDir = join(path, 'renderer')
  await mkdir(consoleDir)
  await writeFile(join(consoleDir, 'index.html'), '<!doctype html><title>Berth</title>')
  const ofConsole = { ...common, BERTH_MANAGER_URL: manager.ready.url as string, BERTH_CONSOLE_DIR: consoleDir }
  const victim = stack.use(await Victim.start('proxy/web/main.ts', { ...ofConsole, BERTH_SSH_DIR: join(path, 'ssh') }))
  const { port } = new URL(victim.ready.url as string)
  await fetch(`http://localhost:${port}/api/v1/openapi.json`).then(answer => answer.text())
  const look = async () => ({
    console: await victim.descriptors(),
    manager: await manager.descriptors(),
    mib: Math.round((await victim.residentBytes()) / MIB),
    tcpMib: Math.round((await tcpPages()) / 256),
  })
  const before = await look()

  const child = spawn('python3', [join(import.meta.dirname, 'lingerers.py'), port, String(MANY), '127.0.0.2'])
  stack.defer(() => void child.kill('SIGKILL'))
  child.stdin.end(
    `GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  )
  await once(child.stdout, 'data')
  const began = performance.now()
  const seen: unknown[] = [before]
  for (let minute = 1; minute <= 6; minute++) {
    await new Promise(done => setTimeout(done, 60_000))
    seen.push({ s: Math.round((performance.now() - began) / 1_000), ...(await look()) })
  }
  console.log(seen)
  expect(await victim.descriptors(), JSON.stringify(seen)).toBeLessThan(before.console + 50)
})
