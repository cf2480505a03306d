import { once } from 'node:events'
import { Agent, createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../log.ts'
import { Connections } from './connections.ts'
import { createHttpServer } from './create-server.ts'
import { forwardRequest, type Upstream } from './forward.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import { mapHeaders } from '#base/raw-headers'
import { answerRaw } from './raw-answer.ts'

test.each([
  ['a name', ['bad header', 'x']],
  ['a value', ['Authorization', 'a\r\nX: b']],
])('a request whose upstream headers hold %s that cannot be sent fails, and only this request', async (_, headers) => {
  const upstream = { options: { host: '127.0.0.1', port: 9 }, headers: () => headers, log: silentLog }
  const failures: Error[] = []
  const server = createHttpServer({
    onRequest: (request, response) =>
      forwardRequest(request, response, upstream, error => {
        failures.push(error)
        response.writeHead(502).end()
      }),
    onUpgrade: (request, socket, head) =>
      forwardUpgrade(request, socket, head, upstream, error => {
        failures.push(error)
        answerRaw(socket, { status: 502, type: 'text/plain', body: '' })
      }),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const body = 'x'.repeat(100_000)
  for (const rest of [
    'Connection: close\r\n\r\n',
    'Connection: Upgrade\r\nUpgrade: x\r\n\r\n',
    `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  ]) {
    const client = connect(port, '127.0.0.1')
    client.write(`POST / HTTP/1.1\r\nHost: a\r\n${rest}`)
    expect(await text(client)).toMatch(/^HTTP\/1.1 502 /)
  }
  expect(failures).toHaveLength(3)
  server.close()
})

test('an answer before the end of the request announces that the connection closes', async () => {
  const early = createServer((_request, response) => response.writeHead(413, { 'content-length': '2' }).end('no'))
  early.listen(0, '127.0.0.1')
  await once(early, 'listening')
  const { port: upstreamPort } = early.address() as AddressInfo
  const upstream = { options: { host: '127.0.0.1', port: upstreamPort }, headers: () => ['Host', 'a'], log: silentLog }
  const server = createHttpServer({
    onRequest: (request, response) => forwardRequest(request, response, upstream, () => response.writeHead(502).end()),
    onUpgrade: (_request, socket) => socket.destroy(),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1000)}`)
  const [head] = (await once(client, 'data')) as [Buffer]
  // Otherwise the client would send its next request on a connection that is about to end.
  expect(head.toString()).toMatch(/^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n/i)
  client.destroy()
  server.close()
  early.close()
  early.closeAllConnections()
})

test('a part of a file at a refused place ends its connection at once, although its bytes keep coming', async () => {
  const refusing = createServer((_request, response) => response.writeHead(409, { 'content-length': '2' }).end('no'))
  refusing.listen(0, '127.0.0.1')
  onTestFinished(() => {
    refusing.close()
    refusing.closeAllConnections()
  })
  await once(refusing, 'listening')
  const { port: upstreamPort } = refusing.address() as AddressInfo
  const upstream: Upstream = {
    options: { host: '127.0.0.1', port: upstreamPort },
    headers: raw => ['Host', 'a', ...mapHeaders(raw, (name, value) => (name === 'host' ? undefined : value))],
    log: silentLog,
  }
  const server = createHttpServer({
    onRequest: (request, response) => forwardRequest(request, response, upstream, () => response.writeHead(502).end()),
    onUpgrade: (_request, socket) => socket.destroy(),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  onTestFinished(() => void client.destroy())
  const ended = new Promise(resolve => client.on('close', () => resolve('ended')))
  const type = 'application/offset+octet-stream'
  client.resume().write(`PATCH / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n`)
  const sending = setInterval(() => client.write('x'.repeat(1000)), 50)
  onTestFinished(() => clearInterval(sending))
  // Other unfinished requests are read for 10 seconds.
  const late = new Promise(resolve => setTimeout(resolve, 8_000, 'still read').unref())
  expect(await Promise.race([ended, late])).toBe('ended')
})

/** The two ways for a request without a body: over kept connections, or only by Node's client. */
const WAYS = ['kept connections', 'Node’s client'] as const

/** A forwarder to an upstream of raw bytes; `failures` contains the failures that the forwarder reported. */
async function forwarding(way: (typeof WAYS)[number], onConnection: (socket: Socket) => void) {
  const upstream = createTcpServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port: upstreamPort } = upstream.address() as AddressInfo
  const connections = new Connections(async () => {
    const socket = connect({ port: upstreamPort, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return socket
  }, silentLog)
  const isKept = way === 'kept connections'
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const upstreamOptions: Upstream = {
    options: { host: '127.0.0.1', port: upstreamPort, agent },
    headers: raw => [
      'Host',
      'a',
      'X-Sent',
      'b',
      ...mapHeaders(raw, (name, value) => (name === 'content-length' ? value : undefined)),
    ],
    log: silentLog,
    ...(isKept && { connections }),
  }
  const failures: Error[] = []
  const server = createHttpServer({
    onRequest: (request, response) =>
      forwardRequest(request, response, upstreamOptions, error => {
        failures.push(error)
        response.writeHead(502).end()
      }),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dial = () => connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  return {
    failures,
    dial,
    async exchange(request: string): Promise<Buffer> {
      const client = dial()
      client.write(request)
      return await buffer(client)
    },
    [Symbol.dispose]() {
      agent.destroy()
      connections.close()
      for (const closing of [server, upstream]) closing.close()
    },
  }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** Answers each request of a connection with these bytes. */
const answering = (bytes: string) => (socket: Socket) => socket.on('data', () => socket.write(bytes, 'latin1'))

describe.each(WAYS)('trailers: %s', way => {
  const answers = (bytes: string) => (socket: Socket) => socket.on('data', () => socket.write(bytes, 'latin1'))
  const TRAILED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n'
  const FIELDS = 'Repr-Digest: sha-256=:eA==:\r\nSet-Cookie: a=b\r\nContent-Type: x/y\r\nGrpc-Status: 0\r\n'

  test.each([
    ['announced', 'Trailer: Repr-Digest, Set-Cookie, Grpc-Status\r\n', 'Trailer: Repr-Digest, Grpc-Status\r\n'],
    ['not announced', '', ''],
  ])('of an answer arrive, %s, without those that have no meaning after a body', async (_, announced, forwarded) => {
    using proxy = await forwarding(way, answers(`${TRAILED}${announced}\r\n2\r\nok\r\n0\r\n${FIELDS}\r\n`))
    const answer = (await proxy.exchange(GET)).toString()
    expect(answer).toMatch(/\r\n2\r\nok\r\n0\r\nRepr-Digest: sha-256=:eA==:\r\nGrpc-Status: 0\r\n\r\n$/)
    expect(/^Trailer:.*\r\n/m.exec(answer)?.[0] ?? '').toBe(forwarded)
    expect(answer).not.toContain('Set-Cookie')
  })

  test.each([
    ['a client of HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\n\r\n', 'ok'],
    ['a HEAD', 'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', ''],
  ])('are left out for %s', async (_, request, body) => {
    using proxy = await forwarding(way, socket =>
      socket.on('data', chunk => {
        const rest = chunk.toString().startsWith('HEAD') ? '' : `2\r\nok\r\n0\r\n${FIELDS}\r\n`
        socket.write(`${TRAILED}Trailer: Repr-Digest\r\n\r\n${rest}`)
      }),
    )
    const answer = (await proxy.exchange(request)).toString()
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(body)
    expect(answer).not.toContain('Digest')
  })

  test('of a request arrive, and the app learns whether the client reads trailers', async () => {
    let received = ''
    using proxy = await forwarding(way, socket =>
      socket.on('data', chunk => {
        received += chunk.toString('latin1')
        if (received.endsWith('\r\n\r\n') && received.includes('\r\n0\r\n'))
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      }),
    )
    await proxy.exchange(
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTE: trailers, deflate\r\nConnection: TE, close\r\n' +
        `Trailer: Repr-Digest, Cookie\r\n\r\n2\r\nhi\r\n0\r\n${FIELDS}Cookie: a=b\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n`,
    )
    expect(received).toMatch(/\r\n2\r\nhi\r\n0\r\nRepr-Digest: sha-256=:eA==:\r\nGrpc-Status: 0\r\n\r\n$/)
    expect(received).toContain('\r\nTrailer: Repr-Digest\r\n')
    expect(received).toContain('\r\nTE: trailers\r\n')
    expect(received).toContain('\r\nConnection: TE\r\n')
  })

  test('a GET says that its client reads trailers', async () => {
    let received = ''
    using proxy = await forwarding(way, socket =>
      socket.on('data', chunk => {
        received += chunk.toString('latin1')
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      }),
    )
    await proxy.exchange('GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n')
    expect(received).toContain('\r\nTE: trailers\r\nConnection: TE\r\n')
  })
})

describe.each(WAYS)('%s', way => {
  test('small answers keep every byte, and their connection serves the next request', async () => {
    const body = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    let connections = 0
    using proxy = await forwarding(way, socket => {
      connections++
      socket.on('data', chunk => {
        const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`
        socket.write(chunk.toString().startsWith('HEAD') ? head : Buffer.concat([Buffer.from(head), body]))
      })
    })
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await proxy.exchange(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      const bodyAt = answer.indexOf('\r\n\r\n') + 4
      expect(answer.toString('latin1', 0, bodyAt)).toMatch(/^HTTP\/1.1 200 OK\r\nContent-Length: 256\r\n/)
      expect(answer.subarray(bodyAt)).toEqual(method === 'HEAD' ? Buffer.alloc(0) : body)
    }
    expect({ connections, failures: proxy.failures }).toEqual({ connections: 1, failures: [] })
  })

  test('an answer whose body is broken from its first byte is cut, and no second answer follows', async () => {
    using proxy = await forwarding(way, socket => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\n'))
    })
    const answer = (await proxy.exchange('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toString()
    expect(answer).not.toContain('502')
    expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
    expect(proxy.failures).toEqual([])
  })

  test.each([
    ['chunks piece by piece', '', true],
    ['chunks of a server that closes', 'Connection: close\r\n', false],
    ['chunks of a server that closes soon', 'Keep-Alive: timeout=1\r\n', false],
  ])('%s: whether the connection serves the next request', async (_, field, isKept) => {
    let connections = 0
    using proxy = await forwarding(way, socket => {
      connections++
      socket.on('data', chunk => {
        // The last chunk of a request body, or a head without a body.
        if (!chunk.toString().endsWith('\r\n\r\n')) return
        socket.write(`HTTP/1.1 200 OK\r\n${field}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`)
        setTimeout(() => socket.write('0\r\n\r\n'), 20)
      })
    })
    const upload = `${GET.replace('GET', 'POST').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')}2\r\nup\r\n0\r\n\r\n`
    for (const request of [upload, GET, GET]) {
      expect((await proxy.exchange(request)).toString()).toMatch(/\r\n2\r\nok\r\n0\r\n\r\n$/)
    }
    expect({ connections, failures: proxy.failures }).toEqual({ connections: isKept ? 1 : 3, failures: [] })
  })

  test('the upstream sees the same head, once', async () => {
    const heads: string[] = []
    using proxy = await forwarding(way, socket => {
      socket.on('data', chunk => {
        heads.push(chunk.toString())
        socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      })
    })
    await proxy.exchange(GET.replace('GET / ', 'DELETE /a?b=%20 '))
    expect(heads).toEqual(['DELETE /a?b=%20 HTTP/1.1\r\nHost: a\r\nX-Sent: b\r\n\r\n'])
  })

  test.each([
    ['in one piece with the head', 0],
    ['later than the head', 30],
  ])('a request body that comes %s arrives as it is', async (_, delay) => {
    const body = Buffer.from(Array.from({ length: 1024 }, (__, i) => i))
    let seen = Buffer.alloc(0)
    let pieces = 0
    using proxy = await forwarding(way, socket => {
      socket.on('data', chunk => {
        pieces++
        seen = Buffer.concat([seen, chunk])
        if (seen.length >= seen.indexOf('\r\n\r\n') + 4 + body.length) {
          socket.write('HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok')
        }
      })
    })
    const head = Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1024\r\nConnection: close\r\n\r\n')
    const client = proxy.dial()
    client.write(delay === 0 ? Buffer.concat([head, body]) : head)
    if (delay > 0) setTimeout(() => client.write(body), delay)
    expect((await buffer(client)).toString()).toMatch(/^HTTP\/1\.1 201 [^]*ok$/)
    expect(seen.subarray(seen.indexOf('\r\n\r\n') + 4)).toEqual(body)
    if (way === 'kept connections' && delay === 0) expect(pieces).toBe(1)
  })

  test.each([
    ['in one piece', ['HTTP/1.1 200 OK\r\nX: \xe9\xff\r\nContent-Length: 2\r\n\r\nok']],
    ['in pieces', ['HTTP/1.1 200 OK\r\nX: \xe9\xff\r\nContent-Length: 2\r\n\r\no', 'k']],
    ['without a length', ['HTTP/1.1 200 OK\r\nX: \xe9\xff\r\nConnection: close\r\n\r\n', 'ok']],
  ])('header bytes above 127 arrive as they are, for an answer %s', async (_, pieces) => {
    using proxy = await forwarding(way, socket => {
      socket.on('data', () => {
        for (const [i, piece] of pieces.entries()) {
          setTimeout(() => {
            if (i < pieces.length - 1) socket.write(piece, 'latin1')
            else socket.end(piece, 'latin1')
          }, 20 * i)
        }
      })
    })
    expect((await proxy.exchange(GET)).toString('latin1')).toMatch(/^HTTP\/1\.1 200 OK\r\nX: \xe9\xff\r\n[^]*ok/)
  })

  test('a request on a kept connection that the app has closed meanwhile is sent again', async () => {
    let requests = 0
    using proxy = await forwarding(way, socket => {
      let answered = false
      socket.on('data', () => {
        requests++
        // Like an app whose idle time is over just when the next request arrives.
        if (answered) socket.resetAndDestroy()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        answered = true
      })
    })
    await proxy.exchange(GET)
    expect((await proxy.exchange(GET)).toString()).toMatch(/ok$/)
    expect({ requests, failures: proxy.failures }).toEqual({ requests: 3, failures: [] })
  })

  test('a request that changes something is not sent again', async () => {
    let requests = 0
    using proxy = await forwarding(way, socket => {
      socket.on('data', chunk => {
        requests++
        if (chunk.toString().startsWith('POST')) socket.resetAndDestroy()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    await proxy.exchange(GET)
    expect((await proxy.exchange(GET.replace('GET', 'POST'))).toString()).toMatch(/^HTTP\/1\.1 502 /)
    expect({ requests, failures: proxy.failures.length }).toEqual({ requests: 2, failures: 1 })
  })

  test.each([
    ['a second answer', 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen'],
    ['garbage', '\0'],
  ])('the next request does not get %s that came with the answer before', async (_, behind) => {
    let connections = 0
    using proxy = await forwarding(way, socket => {
      const own = ++connections
      answering(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${own}${behind}`)(socket)
    })
    for (const own of ['1', '2', '3']) expect((await proxy.exchange(GET)).toString().at(-1)).toBe(own)
  })

  test('an upstream that ends without an answer, or sends none that can be read, is a failure', async () => {
    const answers = ['', 'SSH-2.0-x\r\n', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n']
    using proxy = await forwarding(way, socket => socket.once('data', () => socket.end(answers.shift() ?? '')))
    for (const _ of [...answers]) expect((await proxy.exchange(GET)).toString()).toMatch(/^HTTP\/1\.1 502 /)
    expect(proxy.failures).toHaveLength(3)
  })

  test.each([
    ['ends', (socket: Socket) => socket.end()],
    ['is reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('an answer whose connection %s within the body is cut', async (_, stop) => {
    using proxy = await forwarding(way, socket => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')
        setTimeout(stop, 30, socket)
      })
    })
    // The client reads to the end of the connection, although the answer does not announce it.
    const answer = (await proxy.exchange(GET.replace('close', 'keep-alive'))).toString()
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*Content-Length: 100\r\n[^]*\r\n\r\nhalf$/)
    expect(proxy.failures).toEqual([])
  })

  test('bytes after a body that came in pieces are not part of it, and close the connection', async () => {
    let connections = 0
    using proxy = await forwarding(way, socket => {
      connections++
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfi')
        setTimeout(() => socket.write('neHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen'), 30)
      })
    })
    for (let i = 1; i <= 3; i++) {
      expect((await proxy.exchange(GET)).toString()).toMatch(/\r\n\r\nfine$/)
      expect(connections).toBe(i)
    }
  })

  test('the connection of a browser that goes away is closed, before the answer and during it', async () => {
    for (const begun of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf']) {
      const reached = Promise.withResolvers<Socket>()
      using proxy = await forwarding(way, socket => {
        socket.on('data', () => {
          socket.write(begun)
          reached.resolve(socket)
        })
      })
      const client = proxy.dial()
      client.write(GET.replace('\r\n', '\r\nUser-Agent: Mozilla/5.0\r\n'))
      const far = await reached.promise
      if (begun !== '') await once(client, 'data')
      const over = Promise.race([once(far, 'end'), once(far, 'close')])
      client.destroy()
      await over
    }
  })

  test('a large answer passes at the speed of its reader, and completely', async () => {
    const block = Buffer.alloc(64 * 1024, 'x')
    const blocks = 200
    let written = 0
    using proxy = await forwarding(way, socket => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${block.length * blocks}\r\n\r\n`)
        const more = () => {
          while (written < blocks) {
            written++
            if (!socket.write(block)) return
          }
        }
        socket.on('drain', more)
        more()
      })
    })
    const client = proxy.dial().pause()
    client.write(GET)
    await new Promise(resolve => setTimeout(resolve, 300))
    const stalledAt = written
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(written).toBe(stalledAt)
    expect(stalledAt).toBeLessThan(blocks)
    const answer = await buffer(client)
    expect(answer.length - answer.indexOf('\r\n\r\n') - 4).toBe(block.length * blocks)
  })
})
