import { type LookupAddress } from 'node:dns'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { isCredentialAddress } from './credential-addresses.ts'
import { createGuardedFetch, type Lookup, RefusedAddress } from './guarded-fetch.ts'

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A name server that answers every query with the next of these addresses. */
function answering(...answers: string[][]) {
  const asked: string[] = []
  const find = (hostname: string, _options: object, done: (error: null, addresses: LookupAddress[]) => void): void => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(hostname)
    done(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { fetch: createGuardedFetch({ find: find as unknown as Lookup }), asked }
}

test.each([
  '169.254.169.254',
  '[fe80::1]',
  'fe80::1%eth0',
  '::ffff:169.254.169.254',
  '[::ffff:a9fe:a9fe]',
  '64:ff9b::a9fe:a9fe',
  'fd00:ec2::254',
  '100.100.100.200',
  '192.0.0.192',
])('%s may hand out credentials', address => expect(isCredentialAddress(address)).toBe(true))

test.each([
  '127.0.0.1',
  '10.0.0.1',
  '[::1]',
  'fd00:ec2::1',
  '100.100.100.201',
  '169.253.1.1',
  'metadata.google.internal',
])('%s is none of these addresses', address => expect(isCredentialAddress(address)).toBe(false))

test.each([['169.254.169.254'], ['fd00:ec2::254'], ['127.0.0.1', '100.100.100.200']])(
  'a name with the address %s is not connected to',
  async (...addresses) => {
    let requests = 0
    const port = await serve((_, response) => {
      requests++
      response.end()
    })
    const { fetch } = answering(addresses)
    await expect(fetch(`http://registry.example:${port}/`)).rejects.toThrow(RefusedAddress)
    expect(requests).toBe(0)
  },
)

test('the connection goes to the address that was judged: a name that changes afterwards changes nothing', async () => {
  const port = await serve((_, response) => response.end('here'))
  const { fetch, asked } = answering(['127.0.0.1'], ['169.254.169.254'])
  expect(await (await fetch(`http://changes.example:${port}/`)).text()).toBe('here')
  expect(asked).toEqual(['changes.example'])
})

test('an address that is written out is refused without a lookup', async () => {
  const { fetch, asked } = answering(['127.0.0.1'])
  for (const host of ['169.254.169.254', '[fe80::1]', '2852039166', '0xa9fea9fe']) {
    await expect(fetch(`http://${host}/latest`)).rejects.toThrow(RefusedAddress)
  }
  expect(asked).toEqual([])
})

test('requests and answers are those of fetch: body, headers, status, and no redirect', async () => {
  const port = await serve((request, response) => {
    void text(request).then(body => {
      response.writeHead(302, {
        location: '/other',
        'x-said': `${request.method} ${body}`,
        'set-cookie': ['a=1', 'b=2'],
      })
      response.end('moved')
    })
  })
  const { fetch } = answering(['127.0.0.1'])
  const url = `http://provider.example:${port}/token`
  const reply = await fetch(url, { method: 'POST', body: new URLSearchParams({ code: 'x y' }) })
  expect(reply.status).toBe(302)
  expect(reply.headers.get('x-said')).toBe('POST code=x+y')
  expect(reply.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect(await reply.text()).toBe('moved')
  const head = await fetch(url, { method: 'HEAD' })
  expect(await head.text()).toBe('')
})

test('an abort ends a request with its reason, before the answer and while it is read', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/slow') return
    response.write('begin')
  })
  const { fetch } = answering(['127.0.0.1'])
  const late = fetch(`http://slow.example:${port}/slow`, { signal: AbortSignal.timeout(50) })
  await expect(late).rejects.toMatchObject({ name: 'TimeoutError' })
  const stop = new AbortController()
  const reply = await fetch(`http://slow.example:${port}/body`, { signal: stop.signal })
  const reading = reply.text()
  stop.abort()
  await expect(reading).rejects.toThrow()
})

test('a server that is away is reported as by fetch', async () => {
  const { fetch } = answering(['127.0.0.1'])
  await expect(fetch('http://away.example:1/')).rejects.toMatchObject({
    name: 'TypeError',
    cause: { code: 'ECONNREFUSED' },
  })
})
