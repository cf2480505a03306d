import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCli, type Cli, outcomeOf } from '../../fixtures/cli.ts'
import { BROWSER_HERE, startVisit } from '../../fixtures/cli-visit.ts'
import { browseProvider } from '../../fixtures/oidc-provider.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { type SsoWorld, startSsoWorld } from '../users/sso-steps.ts'

/** A hostile server that passes the sign-in of its client on to another Berth, to enter there as that person. */
let world: SsoWorld
let cli: Cli
let relay: Relay
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  world = stack.use(await startSsoWorld())
  cli = stack.use(await createCli())
  await world.configure()
  relay = stack.use(await startRelay(world.manager.url))
})
afterAll(() => stack.disposeAsync())

interface Start {
  readonly return: { readonly to: string; readonly at?: string }
}
interface Relay extends AsyncDisposable {
  readonly url: string
  /** Changes what the client sends to begin. */
  change: (start: Start) => object
  /** The answer of the other Berth to the next call that would end a sign-in. */
  entered: Promise<{ readonly status: number; readonly body: unknown }>
}

async function startRelay(target: string): Promise<Relay> {
  const server = createServer((request, response) => void pass(request, response))
  let told = Promise.withResolvers<{ status: number; body: unknown }>()
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method = 'GET' } = request
    const sent = method === 'POST' ? await json(request) : undefined
    const body = url.endsWith('/start') ? relay.change(sent as Start) : sent
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(target + url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    const text = await answer.text()
    if (url.endsWith('/finish')) told.resolve({ status: answer.status, body: JSON.parse(text) as unknown })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    change: start => start,
    get entered() {
      return told.promise.finally(() => (told = Promise.withResolvers()))
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Where the hostile server says that it is. */
const LIES = {
  'at the other Berth': (start: Start) => ({
    ...start,
    return: { ...start.return, at: new URL(world.manager.url).host },
  }),
  nowhere: ({ return: { at: _, ...to }, ...start }: Start) => ({ ...start, return: to }),
}
const WAYS = { 'a port': [], 'a typed code': ['--no-browser'] } as const
const cases = Object.entries(WAYS).flatMap(([way, flags]) =>
  Object.entries(LIES).map(([where, lie]) => [way, where, flags, lie] as const),
)

test.each(cases)(
  'by %s, a server that says it is %s gets nobody in at another Berth',
  async (_, _where, flags, lie) => {
    relay.change = lie
    world.provider.person = { sub: 'victim', email: 'victim@example.org', email_verified: true }
    const env = flags.length === 0 ? BROWSER_HERE : {}
    const visit = await startVisit(cli, ['login', '--endpoint', relay.url, '--sso', ...flags], env)
    const location = await world.comeBack(await browseProvider(visit.url, world.provider.issuer))
    const shown = new URLSearchParams(location.split('?')[1])
    const code = shown.get('code') ?? ''
    const { entered } = relay
    if (shown.has('port')) {
      // The person sees the same word in the terminal and in the browser, and goes on.
      expect(shown.get('word')).toBe(visit.word)
      const { status } = await rawRequest(`http://127.0.0.1:${shown.get('port')}/?code=${code}`, {
        headers: { cookie: visit.cookie },
      })
      expect(status).toBe(200)
    } else visit.child.stdin.end(`${code}\n`)
    expect(await entered).toMatchObject({ status: 401, body: { code: 'sso_expired' } })
    visit.child.kill()
    await visit.outcome
  },
)

test('a Berth begins no sign-in for a program that believes to be at another server', async () => {
  relay.change = start => start
  const child = cli.start(['login', '--endpoint', relay.url, '--sso', '--no-browser'], {})
  expect(await outcomeOf(child)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`not known as ${new URL(relay.url).host}`) as string,
  })
})
