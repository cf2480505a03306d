import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cli, createCli, outcomeOf } from '../../fixtures/cli.ts'
import { startScriptedApi } from '../../fixtures/scripted-api.ts'
import { aSession, tcpApp } from '../../fixtures/proxy-stand-in.ts'

/** `berth app` and the Ctrl-C that ends it. */

let cli: Cli
beforeAll(async () => {
  cli = await createCli()
})
afterAll(() => cli[Symbol.asyncDispose]())

const APP = tcpApp('slow')
const session = aSession('train', [APP])
const base = `/api/v1/sessions/${session.id}`
const answers = {
  'GET /api/v1/me': { user: { id: session.ownerId } },
  [`GET ${base}`]: session,
}
const START = `POST ${base}/apps/slow/start`
const GRANT = `POST ${base}/apps/slow/grant`

test('arguments and variables of an app are sent before its tunnel is opened', async () => {
  await using api = await startScriptedApi({
    ...answers,
    [START]: response => response.writeHead(204).end(),
    [GRANT]: () => undefined,
  })
  const words = ['app', session.id, 'slow', '--arg', '--logdir=/a=b', '--arg', '--reload', '--env', 'MODE=x']
  const child = cli.start(words, api.environment)
  await expect.poll(() => api.asked, { timeout: 20_000 }).toContain(GRANT)
  child.kill('SIGINT')
  await outcomeOf(child)
  expect(api.asked.indexOf(START)).toBeLessThan(api.asked.indexOf(GRANT))
  await expect
    .poll(() => api.bodies.get(START))
    .toEqual({
      arguments: { '--logdir': '/a=b', '--reload': '' },
      environment: { MODE: 'x' },
    })
})

test('Ctrl-C ends berth app while the app is starting', async () => {
  await using api = await startScriptedApi({ ...answers, [GRANT]: () => undefined })
  const child = cli.start(['app', session.id, 'slow'], api.environment)
  await expect.poll(() => api.asked, { timeout: 20_000 }).toContain(GRANT)
  child.kill('SIGINT')
  expect(await outcomeOf(child)).toMatchObject({ code: 130, out: '' })
})

test('Ctrl-C closes the port of an open app with exit code 0', async () => {
  const grant = { grant: 'g', sessionId: session.id, app: APP, expiresAt: '2100-01-01T00:00:00Z', inject: null }
  await using api = await startScriptedApi({ ...answers, [GRANT]: grant })
  const child = cli.start(['app', session.id, 'slow', '--json'], api.environment)
  const err = text(child.stderr)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { port } = JSON.parse(line.toString()) as { port: number }
  child.kill('SIGTERM')
  const [code] = (await once(child, 'close')) as [number]
  expect({ code, err: await err }).toEqual({ code: 0, err: 'Press Ctrl-C to close it.\n' })
  const free = createServer().listen(port, '127.0.0.1')
  await once(free, 'listening')
  free.close()
})
