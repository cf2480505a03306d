import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { prepare } from './prepare.ts'

/** An engine that holds no image and can pull none. */
async function bareEngine(): Promise<AsyncDisposable & { readonly host: string }> {
  const server = createServer((request, response) => {
    const isVersion = request.url?.endsWith('/version') === true
    response.writeHead(isVersion ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isVersion ? { Version: '1' } : { message: 'no registry' }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `tcp://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

test('an ordinary user whose engine can pull no base image gets the console without sessions', async () => {
  await using engine = await bareEngine()
  vi.stubEnv('DOCKER_HOST', engine.host)
  const said: string[] = []
  try {
    const environment = await prepare({
      docker: true,
      renderer: false,
      platform: { name: 'Fedora', debianLike: false, root: false },
      dataDir: '/nowhere',
      signal: new AbortController().signal,
      progress: { step: async (_title, work) => void (await work(() => undefined)) },
      say: text => said.push(text),
    })
    expect(environment).toEqual({ BERTH_NO_ENGINE: '1' })
    expect(said.join('')).toMatch(/docker pull debian:trixie-slim.*npm start -- --no-docker.*\n.*Going on without/)
  } finally {
    vi.unstubAllEnvs()
  }
})
