import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cli, createCli, loginCommand } from '../../fixtures/cli.ts'
import { ADMIN, startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** The addresses to which the command line sends passwords and tokens. */

let manager: TestManager
let cli: Cli
beforeAll(async () => {
  manager = await startTestManager()
  cli = await createCli()
  await cli.signIn(manager.url)
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
})

/** Somebody else's server, at all addresses of this machine. */
async function stranger() {
  const asked: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    asked.push(request.headers)
    response.writeHead(404).end()
  })
  await new Promise<void>(done => server.listen(0, '0.0.0.0', done))
  const { port } = server.address() as AddressInfo
  return { asked, port, [Symbol.asyncDispose]: () => new Promise<void>(done => server.close(() => done())) }
}

test('a token is sent only to the Berth that issued it, whatever BERTH_ENDPOINT says', async () => {
  await using other = await stranger()
  const whoami = (endpoint: string) => cli.run(['whoami'], '', { BERTH_ENDPOINT: endpoint })
  const refused = await whoami(`http://127.0.0.1:${other.port}`)
  expect(refused.code).toBe(3)
  expect(refused.err).toContain(`berth login --endpoint http://127.0.0.1:${other.port}`)
  expect(other.asked).toEqual([])
  expect((await whoami(`${manager.url}/`)).out).toContain(ADMIN.email)
})

test('berth logout ends the stored sign-in, whatever BERTH_ENDPOINT says', async () => {
  await using other = await stranger()
  const logout = await cli.run(['logout'], '', { BERTH_ENDPOINT: `http://127.0.0.1:${other.port}` })
  expect(logout).toEqual({ code: 0, out: '', err: '' })
  expect(other.asked).toEqual([])
  expect((await cli.run(['whoami'])).code).toBe(3)
})

test('a password is sent unencrypted to another machine only if the user allows it', async () => {
  await using other = await stranger()
  const address = Object.values(networkInterfaces())
    .flat()
    .find(one => one?.family === 'IPv4' && !one.internal)?.address
  const url = `http://${address ?? '192.0.2.1'}:${other.port}`
  const refused = await cli.run(loginCommand(url), ADMIN.password)
  expect(refused.code).toBe(2)
  expect(refused.err).toMatch(/unencrypted.*https:\/\/.*--allow-http/s)
  expect(other.asked).toEqual([])
  if (address === undefined) return
  await cli.run([...loginCommand(url), '--allow-http'], ADMIN.password)
  expect(other.asked).toHaveLength(1)
})
