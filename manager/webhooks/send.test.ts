import { type LookupAddress } from 'node:dns'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Lookup } from '../outgoing/guarded-fetch.ts'
import { createSendMessage, type SendOptions } from './send.ts'
import { newSecret } from './sign.ts'

let server: Server
let port: number
let requests = 0
beforeAll(async () => {
  server = createServer((request, response) => {
    requests++
    request.resume()
    if (request.url === '/hangs') return
    response.write('taken')
    if (request.url !== '/never-ends') response.end()
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Sends with a name server that gives every name these addresses, in turn. */
function sending(...answers: string[][]) {
  return sendingWithin({}, ...answers)
}
function sendingWithin(limits: Omit<SendOptions, 'find'>, ...answers: string[][]) {
  let asked = 0
  const find = (_host: string, _options: object, done: (error: null, addresses: LookupAddress[]) => void): void => {
    const addresses = answers[Math.min(asked++, answers.length - 1)] ?? []
    done(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  const send = createSendMessage({ find: find as unknown as Lookup, ...limits })
  return (host: string, allowed: readonly string[] = [], url = `http://${host}:${port}/`) =>
    send(
      { id: 'msg_1', timestamp: 1, body: '{}', url, secrets: [newSecret()] },
      { hosts: new Set(allowed), http: true },
      new AbortController().signal,
    )
}

test.each([['127.0.0.1'], ['10.0.0.1'], ['8.8.8.8', '192.168.0.1'], ['fd00::1'], ['64:ff9b::7f00:1']])(
  'a name with the address %s %s is not connected to',
  async (...addresses) => {
    const before = requests
    expect(await sending(addresses)('hooks.example.org')).toMatchObject({ fault: 'address_refused' })
    expect(requests).toBe(before)
  },
)

test('a public address of this machine is not connected to, which a firewall in front of it may protect', async () => {
  const isOwn = (address: string) => address === '9.9.9.9'
  expect(await sendingWithin({ isOwn }, ['9.9.9.9'])('hooks.example.org')).toMatchObject({ fault: 'address_refused' })
  expect(await sendingWithin({ isOwn })('9.9.9.9')).toMatchObject({ fault: 'address_refused' })
})

test('a name that a superadmin allows may be private, another one not, and no name may lead to credentials of a cloud', async () => {
  const allowed = ['hooks.lab.example']
  expect(await sending(['127.0.0.1'])('Hooks.Lab.Example', allowed)).toMatchObject({ fault: null, answer: 'taken' })
  expect(await sending(['127.0.0.1'])('other.lab.example', allowed)).toMatchObject({ fault: 'address_refused' })
  expect(await sending(['169.254.169.254'])('hooks.lab.example', allowed)).toMatchObject({ fault: 'address_refused' })
})

test('the rule counts for each request: no connection of an earlier one is used', async () => {
  const send = sending(['127.0.0.1'])
  expect(await send('hooks.lab.example', ['hooks.lab.example'])).toMatchObject({ fault: null })
  expect(await send('hooks.lab.example')).toMatchObject({ fault: 'address_refused' })
})

test.each(['127.0.0.1', '[::1]', '2130706433', '0177.0.0.1', '[::ffff:127.0.0.1]'])(
  'an address that is written as %s is refused',
  async host => expect(await sending(['8.8.8.8'])(host)).toMatchObject({ fault: 'address_refused' }),
)

test('a receiver that hangs is given up; one that never ends its answer has taken the event', async () => {
  const address = (path: string) => `http://a.example:${port}/${path}`
  const hanging = sendingWithin({ giveUpMs: 50 }, ['127.0.0.1'])('a.example', ['a.example'], address('hangs'))
  expect(await hanging).toMatchObject({ fault: 'timeout', responseStatus: null })
  const endless = sendingWithin({ answerMs: 50 }, ['127.0.0.1'])('a.example', ['a.example'], address('never-ends'))
  expect(await endless).toMatchObject({ fault: null, responseStatus: 200, answer: 'taken' })
})

test('a name without an address, and a port without a server, have faults of their own', async () => {
  const none = createSendMessage({
    find: ((_host: string, _options: object, done: (error: Error) => void) =>
      done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))) as unknown as Lookup,
  })
  const message = { id: 'msg_1', timestamp: 1, body: '{}', url: 'https://hooks.invalid/', secrets: [newSecret()] }
  const { signal } = new AbortController()
  expect(await none(message, { hosts: new Set(), http: false }, signal)).toMatchObject({ fault: 'not_found' })
  const send = sending(['127.0.0.1'])
  expect(await send('a.example', ['a.example'], 'http://a.example:1/')).toMatchObject({ fault: 'no_connection' })
  // The server speaks no TLS.
  const url = `https://a.example:${port}/`
  expect(await send('a.example', ['a.example'], url)).toMatchObject({ fault: 'certificate' })
})
