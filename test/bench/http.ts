import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Tunnel } from '#proxy/contract'
import { HTTP_APP } from './image.ts'
import { TICKS_PER_SECOND, ticksBelow } from './processor-time.ts'
import { BARE_HTTP, startRelays } from './relays.ts'
import { startBenchSession } from './session.ts'
import { median, round } from './statistics.ts'

const ROUNDS = 5
const CONNECTIONS = 20
const ROUND_MS = 3_000
const HEAD_END = '\r\n\r\n'

interface Site {
  readonly port: number
  readonly headers: string
}

/**
 * Small HTTP requests through the origin of an app, 20 connections that are kept alive, directly (ADR 41) and through manager and agent; the same through three plain relays, and through
 * two relays behind a bare HTTP forwarder.
 */
export async function benchHttp(stack: AsyncDisposableStack) {
  const { openApp, viaManager, address, berth } = await startBenchSession(stack)
  const app = await siteOf(await openApp(HTTP_APP.name))
  const through = await siteOf(await (await viaManager()).openApp(HTTP_APP.name))
  await countRequests(app, 100)
  const relays = stack.use(await startRelays({ host: address, port: HTTP_APP.port }))
  const plain: Site = { port: relays.port, headers: 'Host: app\r\n' }
  const bare = stack.use(await startRelays({ host: address, port: HTTP_APP.port }, BARE_HTTP))
  const forwarder: Site = { port: bare.port, headers: 'Host: app\r\n' }
  const ours: number[] = []
  const remote: number[] = []
  const yardstick: number[] = []
  const least: number[] = []
  const microseconds: Record<'proxy' | 'manager' | 'agent', number[]> = { proxy: [], manager: [], agent: [] }
  for (let i = 0; i <= ROUNDS; i++) {
    const { rate: plainRate } = await countRequests(plain, ROUND_MS)
    const before = await ticksBelow(berth.pid)
    const { count, rate } = await countRequests(app, ROUND_MS)
    const after = await ticksBelow(berth.pid)
    const { rate: remoteRate } = await countRequests(through, ROUND_MS)
    const { rate: bareRate } = await countRequests(forwarder, ROUND_MS)
    if (i === 0) continue
    yardstick.push(plainRate)
    ours.push(rate)
    remote.push(remoteRate)
    least.push(bareRate)
    for (const [role, costs] of Object.entries(microseconds)) {
      costs.push((((after.get(role) ?? 0) - (before.get(role) ?? 0)) / TICKS_PER_SECOND / count) * 1e6)
    }
  }
  const overRelays = (rates: readonly number[]) =>
    round(median(rates.map((rate, i) => rate / (yardstick[i] ?? Number.NaN))))
  return {
    http: {
      requestsPerSecond: round(median(ours), 0),
      relaysPerSecond: round(median(yardstick), 0),
      ratio: overRelays(ours),
      /** Processor time per request. */
      cpuUs: {
        proxy: round(median(microseconds.proxy), 0),
        manager: round(median(microseconds.manager), 0),
        agent: round(median(microseconds.agent), 0),
      },
      viaManager: { requestsPerSecond: round(median(remote), 0), ratio: overRelays(remote) },
      /** The same ratio of the bare forwarder. */
      bareForwarder: { requestsPerSecond: round(median(least), 0), ratio: overRelays(least) },
      connections: CONNECTIONS,
      rounds: ROUNDS,
    },
  }
}

async function siteOf({ url, tunnel }: { readonly url: string; readonly tunnel: Tunnel }): Promise<Site> {
  return { port: tunnel.port, headers: await enter(new URL(url)) }
}

/** Uses the ticket. @returns the header lines of an admitted browser */
async function enter(url: URL): Promise<string> {
  const socket = await dial(Number(url.port))
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  const cookie = /^set-cookie: ([^;\r]+)/im.exec(answer)?.[1]
  if (cookie === undefined) throw new Error(`the ticket was refused: ${answer.slice(0, 200)}`)
  return `Host: ${url.host}\r\nCookie: ${cookie}\r\n`
}

async function dial(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** @returns the number of answers, and how many there were per second */
async function countRequests({ port, headers }: Site, forMs: number): Promise<{ count: number; rate: number }> {
  const request = `GET / HTTP/1.1\r\n${headers}\r\n`
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => dial(port)))
  let count = 0
  const begin = performance.now()
  const worker = async (socket: Socket) => {
    while (performance.now() - begin < forMs) {
      await exchange(socket, request)
      count++
    }
    socket.destroy()
  }
  await Promise.all(sockets.map(worker))
  return { count, rate: count / ((performance.now() - begin) / 1000) }
}

function exchange(socket: Socket, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const settle = (error?: Error) => {
      socket.off('data', onData).off('close', onClose)
      if (error) reject(error)
      else resolve()
    }
    const onClose = () => settle(new Error('the connection broke'))
    const onData = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf(HEAD_END)
      if (end < 0) return
      if (!text.startsWith('HTTP/1.1 200 ')) settle(new Error(`unexpected answer: ${text.slice(0, 200)}`))
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1])
      if (text.length >= end + HEAD_END.length + length) settle()
    }
    socket.on('data', onData).on('close', onClose)
    socket.write(request)
  })
}
