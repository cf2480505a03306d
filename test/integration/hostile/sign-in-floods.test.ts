import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { BODY_HASH_HEADER, EMPTY_BODY_HASH, SIGNED_DATE_HEADER } from '#manager/contract'
import { ADMIN, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { Victim } from './victim.ts'

/** Strangers who keep the manager busy, and people who sign in meanwhile. */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function setUp() {
  const { url: databaseUrl } = stack.use(await startDatabase())
  const { path } = stack.use(await temporaryDirectory())
  const environment = {
    BERTH_DATA: path,
    BERTH_PORT: '0',
    DATABASE_URL: databaseUrl,
    BERTH_ADMIN_PASSWORD: ADMIN.password,
  }
  const victim = stack.use(await Victim.start('manager/main.ts', environment))
  const url = victim.ready.url as string
  const signIn = async (who: { email: string; password: string } = ADMIN) => {
    const started = performance.now()
    const answer = await fetch(`${url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...who, kind: 'token' }),
      signal: AbortSignal.timeout(20_000),
    })
    await answer.arrayBuffer()
    return { status: answer.status, ms: performance.now() - started }
  }
  return { victim, port: Number(new URL(url).port), signIn }
}

/** Sends requests without end, as fast as the peer reads; counts the answers. */
async function flood(port: number, request: (number: number) => string) {
  const socket = stack.adopt(connect(port, '127.0.0.1'), each => void each.destroy())
  const seen = { answers: 0 }
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => (seen.answers += chunk.toString('latin1').split('HTTP/1.1 ').length - 1))
  await once(socket, 'connect')
  let sent = 0
  const pump = () => {
    while (!socket.destroyed) {
      const requests = Array.from({ length: 200 }, () => request(sent++)).join('')
      if (!socket.write(requests)) break
    }
  }
  socket.on('drain', pump)
  pump()
  return seen
}

const CREDENTIALS = {
  'made-up tokens': (number: number) => `Bearer berth_${String(number).padStart(43, 'a')}`,
  'made-up access keys': (number: number) =>
    `Berth-HMAC-SHA256 Credential=AKIA${String(number).padStart(16, '0')}, Nonce=${'n'.repeat(16)}, Signature=${'0'.repeat(64)}`,
  nothing: () => '',
}
test.each(['made-up tokens', 'made-up access keys', 'nothing'] as const)(
  'people sign in while connections of their own address send %s without end',
  async kind => {
    const { victim, port, signIn } = await setUp()
    const date = new Date().toISOString()
    const request = (number: number) =>
      `GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${SIGNED_DATE_HEADER}: ${date}\r\n${BODY_HASH_HEADER}: ${EMPTY_BODY_HASH}\r\nAuthorization: ${CREDENTIALS[kind](number)}\r\n\r\n`
    const floods = await Promise.all(Array.from({ length: 20 }, () => flood(port, request)))
    await expect.poll(() => floods.every(({ answers }) => answers > 0)).toBe(true)
    for (let time = 0; time < 5; time++) {
      const { status, ms } = await signIn()
      expect(status).toBe(200)
      expect(ms).toBeLessThan(15_000)
    }
    expect(await victim.residentBytes()).toBeLessThan(600 * 2 ** 20)
  },
)

test('people sign in while connections of their own address try passwords of made-up accounts without end', async () => {
  const { port, signIn } = await setUp()
  const request = (number: number) => {
    const body = JSON.stringify({ email: `${number}@example.org`, password: 'Wrong-horse-12', kind: 'token' })
    return `POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
  const floods = await Promise.all(Array.from({ length: 10 }, () => flood(port, request)))
  await expect.poll(() => floods.every(({ answers }) => answers > 0)).toBe(true)
  const statuses: number[] = []
  for (let time = 0; time < 5; time++) statuses.push((await signIn()).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200])
})
