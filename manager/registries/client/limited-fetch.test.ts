import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listHubRepositories } from './docker-hub.ts'
import { limitedFetch } from './limited-fetch.ts'

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: { url: string | undefined; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    requests.push({ url: request.url, authorization: request.headers.authorization })
    answer(request, response)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
const ask = (url: string, more: object = {}) =>
  limitedFetch(new URL(url), {
    headers: { authorization: 'Basic secret' },
    maxBytes: 1000,
    signal: new AbortController().signal,
    ...more,
  })

test('the password is sent to the registry, and not to the target of a redirect', async () => {
  const storage = await serve((_, response) => response.end('blob'))
  const registry = await serve((request, response) =>
    request.url === '/elsewhere'
      ? response.writeHead(307, { location: `${storage.url}/blob` }).end()
      : request.url === '/here'
        ? response.writeHead(307, { location: '/there' }).end()
        : response.end('own'),
  )
  expect((await ask(`${registry.url}/elsewhere`)).body.toString()).toBe('blob')
  expect(storage.requests).toEqual([{ url: '/blob', authorization: undefined }])
  expect((await ask(`${registry.url}/here`)).body.toString()).toBe('own')
  expect(registry.requests.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Basic secret'))
})

test.each(['http://169.254.169.254/latest/meta-data', 'file:///etc/passwd', 'http://[fe80::1]/', 'nonsense://x'])(
  'a redirect to %s is not followed',
  async location => {
    const registry = await serve((_, response) => response.writeHead(302, { location }).end())
    await expect(ask(registry.url)).rejects.toMatchObject({ code: 'registry_failed' })
    expect(registry.requests).toHaveLength(1)
  },
)

test.each(['https://169.254.169.254/token', 'http://[fe80::1]/'])(
  'the forbidden address %s is not requested without a redirect either',
  async address => {
    await expect(ask(address)).rejects.toMatchObject({ code: 'registry_failed' })
  },
)

test('a redirect loop ends', async () => {
  const registry = await serve((_, response) => response.writeHead(302, { location: '/again' }).end())
  await expect(ask(registry.url)).rejects.toMatchObject({ code: 'registry_failed' })
  expect(registry.requests.length).toBeLessThan(10)
})

test('an endless answer is not read to its end', async () => {
  let sent = 0
  const registry = await serve((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1000))) sent += 1000
    }
    response.on('drain', more)
    more()
  })
  await expect(ask(registry.url)).rejects.toMatchObject({ code: 'registry_failed' })
  expect(sent).toBeLessThan(50_000_000)
})

test('a missing answer, a broken one, and a cancelled request have different errors', async () => {
  const broken = await serve((request, response) => (request.url === '/never' ? undefined : response.socket?.destroy()))
  await expect(ask(broken.url)).rejects.toMatchObject({ code: 'registry_unreachable' })
  await expect(ask('http://127.0.0.1:1')).rejects.toMatchObject({ code: 'registry_unreachable' })
  const controller = new AbortController()
  const waiting = ask(`${broken.url}/never`, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
})

test('repositories of a name space of Docker Hub are listed page by page, and from no other host', async () => {
  const hub = await serve((request, response) => {
    const page = new URL(request.url ?? '', 'http://x').searchParams.get('page') ?? '1'
    const next = { '1': `${hub.url}/v2/repositories/lab/?page=2`, '2': 'https://evil.example/v2/' }[page]
    response.end(JSON.stringify({ count: 3, next, results: [{ name: `p${page}` }] }))
  })
  const found: string[] = []
  const { signal } = new AbortController()
  for await (const names of listHubRepositories('lab', { api: hub.url, signal })) found.push(...names)
  expect(found).toEqual(['lab/p1', 'lab/p2'])
  expect(hub.requests).toHaveLength(2)
})
