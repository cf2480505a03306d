import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { ADMIN, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { HostileServer, saying, slowPeer } from '../hostile/peers.ts'
import { Victim } from '../hostile/victim.ts'

/**
 * A stranger asks for a tunnel at an address of the API that has none. The manager answers as usual, the console sends the answer on
 * as that of a refused upgrade: past the limits of calls, of connections and of time that it has for answers.
 */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const MIB = 2 ** 20
const STALLED_MS = 3_000
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const KINDS = [
  ['a plain request', ''],
  ['a request for a tunnel', UPGRADE],
] as const
const pause = (ms: number) => new Promise(done => setTimeout(done, ms))

describe.each(KINDS)('%s', (_, more) => {
  async function startConsole(stalledMs: number) {
    const manager = stack.use(await HostileServer.start())
    const { path } = stack.use(await temporaryDirectory())
    await mkdir(join(path, 'renderer'))
    await writeFile(join(path, 'renderer', 'index.html'), '<!doctype html><title>Berth</title>')
    const victim = stack.use(
      await Victim.start('test/integration/hostile/web-child.ts', {
        DATA_DIR: path,
        MANAGER_URL: `http://127.0.0.1:${manager.port}`,
        HEAD_MS: '60000',
        STALLED_MS: String(stalledMs),
      }),
    )
    const port = Number(new URL(victim.ready.url as string).port)
    const head = `GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost:${port}\r\n${more}\r\n`
    await fetch(`http://localhost:${port}/`).then(answer => answer.text())
    return { victim, manager, port, head, before: await victim.descriptors() }
  }

  test('whose answer is not read is let go', { timeout: 260_000, retry: 0 }, async () => {
    const { victim, manager, port, head, before } = await startConsole(STALLED_MS)
    const body = 'x'.repeat(10 * MIB)
    manager.respond = saying(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    const peers = Array.from({ length: 20 }, () => slowPeer(port, { head, reads: false }))
    stack.defer(() => peers.forEach(peer => peer.stop()))
    await pause(2_000)
    // Longer than every deadline of the console: 90 s for the answer to an upgrade, 60 s for a reader of a refusal.
    await expect.poll(() => victim.descriptors(), { timeout: 165_000, interval: 1_000 }).toBeLessThanOrEqual(before + 5)
  })

  test('takes a bounded number of connections to the manager', { timeout: 120_000, retry: 0 }, async () => {
    const { victim, manager, port, head, before } = await startConsole(60_000)
    manager.respond = () => undefined
    const peers = Array.from({ length: 1_200 }, () => slowPeer(port, { head }))
    stack.defer(() => peers.forEach(peer => peer.stop()))
    await expect.poll(() => victim.descriptors(), { timeout: 60_000 }).toBeGreaterThanOrEqual(before + 1_200 + 250)
    await pause(3_000)
    expect(await victim.descriptors()).toBeLessThan(before + 1_200 + 600)
  })
})
