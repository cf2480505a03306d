import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type BerthUp, startBerthUp } from '../../fixtures/berth-up.ts'
import { createCli } from '../../fixtures/cli.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { startSquatter } from '../../fixtures/squatter.ts'

const SOON = { timeout: 30_000 }
const within = () => ({ signal: AbortSignal.timeout(15_000) })

/** A `berth up` of its own, and the port of its manager. */
async function start(stack: AsyncDisposableStack) {
  const { url: DATABASE_URL } = stack.use(await startDatabase())
  const { path: data } = stack.use(await temporaryDirectory())
  const cli = stack.use(await createCli())
  const up = (port = '0') => startBerthUp(cli, ['--data', data, '--port', port], { DATABASE_URL })
  const berth = stack.use(await up())
  const log = await readFile(join(data, 'logs', 'manager.log'), 'utf8')
  const managerUrl = /"url":"(http:[^"]*)"/.exec(log)?.[1] ?? ''
  return { berth, up, data, managerUrl }
}

async function killAndAwait(berth: BerthUp, server: 'manager' | 'console') {
  const before = (await berth.pidOf(server)) ?? 0
  process.kill(before, 'SIGKILL')
  await expect.poll(async () => (await berth.pidOf(server)) ?? before, SOON).not.toBe(before)
}

test('nobody gets the port of the manager while it restarts, and its clients wait instead of being refused', async () => {
  await using stack = new AsyncDisposableStack()
  const { berth, managerUrl } = await start(stack)
  await using squatter = await startSquatter(Number(new URL(managerUrl).port))
  for (let time = 1; time <= 3; time++) {
    await killAndAwait(berth, 'manager')
    const answer = await fetch(`${managerUrl}/healthz`, within())
    expect([answer.status, squatter.hasPort]).toEqual([200, false])
    expect((await fetch(`${berth.url}/healthz`, within())).status).toBe(200)
  }
}, 60_000)
