import { execFile } from 'node:child_process'
import { createServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Authority, createAuthority } from '../../fixtures/authority.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'

/** The desktop app and the certificate of a laboratory's server; each connection is made in a process of its own. */
const AUTHORITIES = join(import.meta.dirname, '../../../electron/main/settings/extra-authorities.ts')
const CONNECTION = join(import.meta.dirname, '../../../electron/main/server/connection.ts')

let authority: Authority
let url: string
let server: ReturnType<typeof createServer>
beforeAll(async () => {
  authority = await createAuthority()
  server = createServer(authority.server, (_request, response) => response.end('{}')).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  url = `https://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await authority[Symbol.asyncDispose]()
})

/** @returns the endpoint, or why there is none */
async function connect(environment: NodeJS.ProcessEnv, caFile: string | null = null): Promise<string> {
  const script = `
    const { createExtraAuthorities } = await import(${JSON.stringify(AUTHORITIES)})
    await createExtraAuthorities({}, { current: { caFile: ${JSON.stringify(caFile)} } }).apply()
    const { openConnection } = await import(${JSON.stringify(CONNECTION)})
    const credentials = { get: async () => null, set: async () => {}, delete: async () => {} }
    const choice = { kind: 'remote', url: ${JSON.stringify(url)} }
    const deps = { choice, credentials, fetch, trust: async () => false, emit() {}, onUserChanged() {} }
    const said = await openConnection(deps).then(({ endpoint }) => endpoint.url, error => error.detail.why)
    process.stdout.write(said)
  `
  const run = promisify(execFile)
  const args = ['--input-type=module', '-e', script]
  const { stdout } = await run(process.execPath, args, { env: { ...cleanEnvironment(), ...environment } })
  return stdout
}

test('an authority that the system trusts is trusted', async () => {
  expect(await connect({ SSL_CERT_FILE: authority.file })).toBe(url)
})

test('a certificate of an unknown authority is told apart from a server that is down', async () => {
  const why = await connect({})
  expect(why).toContain('The certificate of the server is not trusted')
  expect(why).toContain('NODE_EXTRA_CA_CERTS')
})

test('an authority of a file that the user has chosen is trusted, beside those of the system', async () => {
  expect(await connect({}, authority.file)).toBe(url)
  expect(await connect({ SSL_CERT_FILE: authority.file }, authority.file)).toBe(url)
})
