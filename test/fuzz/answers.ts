import { once } from 'node:events'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { Connections } from '../../proxy/http/connections.ts'
import { createHttpServer } from '../../proxy/http/create-server.ts'
import { forwardRequest, type Upstream } from '../../proxy/http/forward.ts'
import { mapHeaders } from '#base/raw-headers'
import { silentLog } from '../../proxy/log.ts'
import { type Random } from './random.ts'
import { type FuzzTarget, within } from './target.ts'

/** Script of the app for one request. */
interface Script {
  readonly pieces: readonly Buffer[]
  /** The connection ends with the last piece; otherwise it stays for a while. */
  readonly endsAtOnce: boolean
}

interface Seen {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
  readonly isWhole: boolean
}

const STAY_MS = 40
const PROBE: Script = {
  pieces: [Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')],
  endsAtOnce: false,
}

/**
 * Answers of an app, legal or not and cut anywhere, through the forwarder with kept connections and through the forwarder with Node's
 * client alone: a browser must see the same in both cases. After an answer with extra bytes, the next request must get its own answer.
 */
export const answersTarget: FuzzTarget = {
  name: 'answers',
  atOnce: 16,
  weight: 4,
  async start() {
    const scripts = new Map<string, Script>()
    const pools = new Map<string, Connections>()
    const faults: string[] = []
    const log = { ...silentLog, error: (fields: object) => void faults.push(JSON.stringify(fields)) }
    const app = createTcpServer(socket => serve(socket, scripts)).listen(0, '127.0.0.1')
    await once(app, 'listening')
    const { port } = app.address() as AddressInfo
    const place = { host: '127.0.0.1', port }

    const upstreamOf = (request: IncomingMessage): Upstream => {
      const connections = pools.get(request.headers['x-pool'] as string)
      const length = mapHeaders(request.rawHeaders, (name, value) => (name === 'content-length' ? value : undefined))
      const common = { headers: () => ['Host', 'app', ...length], log }
      return { ...common, options: { ...place, agent: false }, ...(connections && { connections }) }
    }
    const proxy = createHttpServer({
      onRequest: (request, response) =>
        forwardRequest(request, response, upstreamOf(request), () => {
          response.sendDate = false
          response.writeHead(502).end('no answer')
        }),
      log,
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port: proxyPort } = proxy.address() as AddressInfo
    const ask = (path: string, method: string, pool = '') =>
      within(`the answer to ${path}`, see(proxyPort, path, method, pool))

    let count = 0
    return {
      async input(random) {
        const name = `/${++count}`
        const isProbed = random.chance(0.5)
        const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST'])
        const script = aScript(random, isProbed)
        scripts.set(name, script)
        const connections = new Connections(() => dial(port), log)
        pools.set(name, connections)
        try {
          if (random.chance(0.5)) await assertFine(ask, name)
          const [ours, nodes] = [await ask(name, method, name), await ask(name, method)]
          const isSame =
            ours.isWhole === nodes.isWhole &&
            ours.status === nodes.status &&
            (!ours.isWhole || JSON.stringify(ours) === JSON.stringify(nodes))
          const told = () =>
            JSON.stringify({ script: script.pieces.map(piece => piece.toString('latin1')), ours, nodes })
          if (!isSame) throw new Error(`another answer than by Node's client: ${told()}`)
          if (isProbed) await assertFine(ask, name)
        } finally {
          connections.close()
          scripts.delete(name)
          pools.delete(name)
        }
        if (faults.length > 0) throw new Error(`a listener failed: ${faults.splice(0).join()}`)
      },
      check: () => Promise.resolve(),
      async [Symbol.asyncDispose]() {
        proxy.closeAllConnections()
        await Promise.all([proxy, app].map(server => new Promise(resolve => server.close(resolve))))
      },
    }
  },
}

async function assertFine(ask: (path: string, method: string, pool: string) => Promise<Seen>, pool: string) {
  const seen = await ask('/probe', 'GET', pool)
  if (seen.body !== 'fine') throw new Error(`the next request got the answer of another one: ${JSON.stringify(seen)}`)
}

async function dial(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Answers each request of a connection by its script. */
function serve(socket: Socket, scripts: ReadonlyMap<string, Script>) {
  socket.on('error', () => undefined)
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (!text.includes('\r\n\r\n')) return
    const name = text.split(' ', 2)[1] ?? ''
    text = ''
    const { pieces, endsAtOnce } = scripts.get(name) ?? PROBE
    const say = (index: number) => {
      const piece = pieces[index]
      if (piece) {
        socket.write(piece)
        setImmediate(say, index + 1)
      } else if (endsAtOnce) socket.end()
      else if (name !== '/probe') setTimeout(() => socket.end(), STAY_MS)
    }
    say(0)
  })
}

/** Sends one request on a connection of its own. */
function see(port: number, path: string, method: string, pool: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const agent = new Agent()
    const sent = httpRequest(
      { host: '127.0.0.1', port, path, method, agent, headers: { 'x-pool': pool } },
      response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', () => undefined)
        response.on('close', () => {
          const body = Buffer.concat(chunks).toString('latin1')
          resolve({ status: response.statusCode ?? 0, headers: response.rawHeaders, body, isWhole: response.complete })
        })
      },
    )
    // The forwarder cut the connection before it had sent a head.
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resolve({ status: 0, headers: [], body: '', isWhole: false })
      else reject(error)
    })
    sent.end(method === 'POST' ? 'a=b' : undefined)
  })
}

const FIELDS = [
  'Content-Type: text/plain',
  'X-A:b',
  'X-B:  two words \t',
  'X-Empty:',
  'Set-Cookie: a=1',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: x-a',
  'Connection: close, x-a',
  'Keep-Alive: timeout=5',
  'Keep-Alive: timeout=0',
  'Upgrade: websocket',
  'Trailer: X',
  'Date: Thu, 01 Jan 1970 00:00:00 GMT',
  'X-Latin: \xe9\xff',
]
const ODD_FIELDS = ['X: a\r\n b', 'X : a', ': a', 'X\0: a', 'X: \0', 'X: \x7f', 'X', 'X: a\n', 'X: \r', ' X: a']
const STATUSES = ['200 OK', '200 ', '200', '204 No Content', '304 Not Modified', '404 Not \xe9', '999 X', '299 OK']
const ODD_STATUSES = ['000 X', '099 X', '1000 X', '20 X', '101 X', '200\tOK', '200 a\x01b', '-1 X', 'X']

/** @param isProbed in one piece, so that no byte of it arrives after the next request */
function aScript(random: Random, isProbed: boolean): Script {
  const plain = random.chance(0.2) ? random.bytes(5_000 + random.int(30_000)) : random.bytes(random.int(60))
  const framing = random.next()
  const isChunked = framing > 0.58 && framing < 0.85
  const body = isChunked ? chunks(random, plain) : plain
  const fields = Array.from({ length: random.int(5) }, () => random.pick(random.chance(0.93) ? FIELDS : ODD_FIELDS))
  const length = random.chance(0.85)
    ? String(body.length)
    : random.pick([
        `0${body.length}`,
        `${body.length + 3}`,
        `${body.length >> 1}`,
        '-1',
        '1e1',
        '',
        `${body.length}, ${body.length}`,
        '99999999999999999999',
      ])
  if (framing < 0.65) fields.push(`Content-Length: ${length}`)
  if (random.chance(0.03)) fields.push(`content-length: ${body.length}`)
  if (isChunked)
    fields.push(
      `Transfer-Encoding: ${random.pick(['chunked', 'chunked', 'chunked', 'Chunked', 'gzip, chunked', 'nonsense', 'chunked, x'])}`,
    )
  const shuffled = fields.map(field => ({ field, at: random.next() })).sort((a, b) => a.at - b.at)
  const status = random.pick(random.chance(0.9) ? STATUSES : ODD_STATUSES)
  const head = `HTTP/1.${random.chance(0.95) ? 1 : random.int(10)} ${status}\r\n${shuffled.map(({ field }) => `${field}\r\n`).join('')}\r\n`
  const early = random.chance(0.05) ? 'HTTP/1.1 103 Early\r\nLink: a\r\n\r\n'.repeat(1 + random.int(3)) : ''
  const parts = [Buffer.from(early + head, 'latin1'), body]
  if (random.chance(0.15)) {
    const second = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen'
    parts.push(random.chance(0.5) ? Buffer.from(second) : random.bytes(1 + random.int(10)))
  }
  const bytes = Buffer.concat(parts)
  for (let changes = random.chance(0.1) ? 1 + random.int(2) : 0; changes > 0; changes--) {
    bytes[random.int(random.chance(0.8) ? head.length : bytes.length)] = random.chance(0.5)
      ? random.int(256)
      : random.pick([0, 10, 13, 32, 58])
  }
  const whole = random.chance(0.1) ? bytes.subarray(0, random.int(bytes.length)) : bytes
  const cuts = isProbed
    ? []
    : Array.from({ length: random.int(4) }, () => random.int(whole.length + 1)).sort((a, b) => a - b)
  const pieces = [0, ...cuts].map((from, index) => whole.subarray(from, cuts[index] ?? whole.length))
  return { pieces, endsAtOnce: random.chance(0.5) }
}

function chunks(random: Random, body: Buffer): Buffer {
  const parts: (Buffer | string)[] = []
  for (let at = 0; at < body.length;) {
    const chunk = body.subarray(at, at + 1 + random.int(body.length))
    const extension = random.chance(0.1) ? ';a="b"' : ''
    parts.push(`${chunk.length.toString(16)}${extension}\r\n`, chunk, '\r\n')
    at += chunk.length
  }
  parts.push('0\r\n', random.chance(0.1) ? 'T: v\r\n' : '', '\r\n')
  return Buffer.concat(parts.map(part => Buffer.from(part as string)))
}
