import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type BerthUp, startBerthUp } from '../../fixtures/berth-up.ts'
import { createCli } from '../../fixtures/cli.ts'
import { signInAsBrowser } from '../../fixtures/browser-sign-in.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { startSquatter } from '../../fixtures/squatter.ts'

const SOON = { timeout: 120_000 }
/** Number of times that a server is killed. */
const KILLS = [1, 2, 3]
/** Uses a separate connection: a kept one may have ended with the killed server. */
const ask = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { headers: { ...headers, connection: 'close' }, signal: AbortSignal.timeout(30_000) })

/** A `berth up` of its own, and the port of its manager. */
async function start(stack: AsyncDisposableStack) {
  const { url: DATABASE_URL } = stack.use(await startDatabase())
  const { path: data } = stack.use(await temporaryDirectory())
  const cli = stack.use(await createCli())
  const environment = { DATABASE_URL, BERTH_ADMIN_PASSWORD: ADMIN.password }
  const up = (...args: string[]) => startBerthUp(cli, ['--data', data, '--port', '0', ...args], environment)
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
  for (const _ of KILLS) {
    await killAndAwait(berth, 'manager')
    const answer = await ask(`${managerUrl}/healthz`)
    expect([answer.status, squatter.hasPort]).toEqual([200, false])
    expect((await ask(`${berth.url}/healthz`)).status).toBe(200)
  }
})

test.each(['127.0.0.1', '::1'])(
  'nobody gets the port of the console at %s while it restarts, and browsers wait',
  async host => {
    await using stack = new AsyncDisposableStack()
    const { berth } = await start(stack)
    await using squatter = await startSquatter(Number(new URL(berth.url).port), host)
    const { headers } = await signInAsBrowser(berth.url, ADMIN)
    for (const _ of KILLS) {
      await killAndAwait(berth, 'console')
      const url = `http://${host.includes(':') ? `[${host}]` : host}:${new URL(berth.url).port}/api/v1/me`
      const answer = await ask(url, headers)
      expect([answer.status, squatter.hasPort]).toEqual([200, false])
    }
  },
)

test('a sign-in that a squatter received while Berth was stopped is worth nothing, and the page says why', async () => {
  await using stack = new AsyncDisposableStack()
  const { berth, up } = await start(stack)
  const { headers } = await signInAsBrowser(berth.url, ADMIN)
  const { token } = await apiOf(berth.url).login({ body: { ...ADMIN, kind: 'token' } })
  const { port } = new URL(berth.url)
  await berth.stop()
  {
    await using squatter = await startSquatter(Number(port))
    await expect.poll(() => squatter.hasPort).toBe(true)
    const asking = new AbortController()
    const asked = fetch(`${berth.url}/api/v1/me`, { headers, signal: asking.signal }).catch(() => undefined)
    await expect.poll(() => squatter.received.join()).toContain(headers['x-berth-origin-secret'])
    asking.abort()
    await asked
  }
  const again = stack.use(await up('--port', port))
  expect((await rawRequest(`${again.url}/api/v1/me`, { headers })).json).toMatchObject({ code: 'not_signed_in' })
  expect(await apiOf(again.url).authOptions()).toMatchObject({ signInsEnded: true })
  expect(await apiOf(again.url, token ?? '').me()).toMatchObject({ user: { email: ADMIN.email } })
})
