import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Authority, createAuthority } from '../../fixtures/authority.ts'
import { createCli, loginCommand, outcomeOf } from '../../fixtures/cli.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

let authority: Authority
let server: Server
let url: string
/** Requested paths: their connections accepted the certificate. */
let asked: string[]

beforeAll(async () => {
  authority = await createAuthority()
  server = createServer(authority.server, (request, response) => {
    asked.push(request.url ?? '')
    const problem = { type: 'urn:berth:error:login_failed', title: '', status: 401, code: 'login_failed', retry: false }
    response.writeHead(401, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  })
  server.on('upgrade', (request, socket) => {
    asked.push(request.url ?? '')
    socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `https://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await authority[Symbol.asyncDispose]()
})

describe.each([
  ['that the system trusts', true],
  ['that nobody has told the system of', false],
])('a certificate of an authority %s', (_, isTrusted) => {
  const environment = () => (isTrusted ? { SSL_CERT_FILE: authority.file } : {})

  test(`the certificate is ${isTrusted ? 'accepted' : 'refused'} by the command line`, async () => {
    asked = []
    await using cli = await createCli()
    const child = cli.start(loginCommand(url), environment())
    child.stdin.end('password')
    const { code, err } = await outcomeOf(child)
    if (isTrusted) expect({ code, asked }).toEqual({ code: 3, asked: [expect.stringContaining('login')] })
    else
      expect({ code, err, asked }).toEqual({
        code: 1,
        err: expect.stringContaining('certificate') as string,
        asked: [],
      })
  })

  test(`the certificate is ${isTrusted ? 'accepted' : 'refused'} by an agent`, async () => {
    asked = []
    await using cli = await createCli()
    await using data = await temporaryDirectory()
    const join = `berth-join:${Buffer.from(JSON.stringify({ url, token: 'x' })).toString('base64url')}`
    const agent = cli.start(['agent'], {
      ...environment(),
      BERTH_DATA: data.path,
      BERTH_JOIN: join,
      DOCKER_HOST: 'unix:///nowhere',
    })
    let log = ''
    agent.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
    const ended = once(agent, 'exit')
    try {
      if (isTrusted) await expect.poll(() => asked).toContain('/agent/v1/control')
      else await expect.poll(() => log).toMatch(/certificate/)
    } finally {
      // An agent that continued would also send requests in the next tests.
      agent.kill('SIGTERM')
      await ended
    }
    if (!isTrusted) expect(asked).toEqual([])
  })
})
