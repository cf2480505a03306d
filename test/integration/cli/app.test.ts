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
  await expect.poll(() => api.asked).toContain(GRANT)
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

test('a port that is given by its number is opened by its protocol', async () => {
  const asked = (app: string) => `POST ${base}/apps/${app}/grant`
  await using api = await startScriptedApi({
    ...answers,
    [asked('https-8443')]: () => undefined,
    [asked('http-8080')]: () => undefined,
  })
  for (const [words, app] of [
    [['8443', '--protocol', 'https'], 'https-8443'],
    [['8080'], 'http-8080'],
  ] as const) {
    const child = cli.start(['app', session.id, ...words], api.environment)
    await expect.poll(() => api.asked).toContain(asked(app))
    child.kill('SIGINT')
    await outcomeOf(child)
  }
  const wrong = await cli.run(['app', session.id, 'slow', '--protocol', 'https'], undefined, api.environment)
  expect(wrong.err).toContain('given by its number')
})

test('publishing an app prints its link, and the words publish, unpublish and ls are not taken for sessions', async () => {
  const published = {
    id: '01900000-0000-7000-8000-00000000000a',
    sessionId: session.id,
    sessionName: 'train',
    app: 'slow',
    title: 'Slow',
    ownerId: session.ownerId,
    owner: 'mira@example.org',
    url: 'https://abcdefghijklmnop.apps.example.org/_berth/open?key=k',
    port: null,
    hasPassword: true,
    addresses: ['203.0.113.0/24'],
    createdAt: '2026-11-22T10:00:00.000Z',
    expiresAt: '2026-11-22T11:30:00.000Z',
    visits: 2,
    lastVisitAt: null,
  }
  const PUBLISH = `POST ${base}/apps/slow/published`
  const END = `DELETE /api/v1/published-apps/${published.id}`
  await using api = await startScriptedApi({
    ...answers,
    [PUBLISH]: published,
    'GET /api/v1/published-apps': { items: [published], publishing: { on: true, maxHours: 24, ports: null } },
    [END]: { connections: 2 },
  })
  const words = [
    'app',
    'publish',
    session.id,
    'slow',
    '--for',
    '90m',
    '--password-stdin',
    '--address',
    '203.0.113.0/24',
  ]
  const berth = (args: readonly string[], input?: string) => cli.run(args, input, api.environment)
  expect(await berth(words, 'Open-sesame-1\n')).toMatchObject({ code: 0, out: `${published.url}\n` })
  const body = { hours: 1.5, password: 'Open-sesame-1', addresses: ['203.0.113.0/24'] }
  await expect.poll(() => api.bodies.get(PUBLISH)).toEqual(body)
  const listed = await berth(['app', 'ls', '--json'])
  expect(JSON.parse(listed.out)).toEqual([published])
  const ended = await berth(['app', 'unpublish', '01900000-0000'])
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('ended with it: 2') as string })
  expect(api.asked).toContain(END)
})

test('Ctrl-C ends berth app while the app is starting', async () => {
  await using api = await startScriptedApi({ ...answers, [GRANT]: () => undefined })
  const child = cli.start(['app', session.id, 'slow'], api.environment)
  await expect.poll(() => api.asked).toContain(GRANT)
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
