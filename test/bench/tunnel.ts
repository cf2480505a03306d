import { measureConnects, measureDown, measureRoundTrips, measureUp, openIdle } from './tunnel-load.ts'
import { type Road, startRelays, startService, startTunnel } from './tunnel-path.ts'

export interface TunnelBenchOptions {
  /** Rounds of the tunnel and of the relays in turn; the medians are compared. */
  readonly rounds?: number
  readonly megabytes?: number
  readonly roundTrips?: number
  readonly connects?: number
  readonly idleTunnels?: number
}

interface Figures {
  readonly downMBps: number
  readonly upMBps: number
  readonly rttP50us: number
  readonly rttP99us: number
  readonly connectsPerSecond: number
  readonly parallelConnectsPerSecond: number
}

export interface TunnelBench {
  readonly tunnel: Figures & {
    readonly downRatio: number
    readonly upRatio: number
    readonly rttRatio: number
    readonly connectRatio: number
    readonly parallelConnectRatio: number
    readonly relays: Figures
  }
  readonly memory: {
    readonly tunnels: number
    /** Growth of proxy, manager and agent together, per tunnel. */
    readonly idleTunnelKB: number
    readonly idleTunnelHeapKB: number
    readonly perProcessKB: readonly number[]
  }
}

/** The path through proxy, manager and agent, against three plain relays in a row, in the same run. */
export async function benchTunnel({
  rounds = 5,
  megabytes = 400,
  roundTrips = 2000,
  connects = 400,
  idleTunnels = 1000,
}: TunnelBenchOptions = {}): Promise<TunnelBench> {
  const memory = await benchIdleMemory(idleTunnels)
  using service = await startService()
  using relays = await startRelays(service.port)
  using tunnel = await startTunnel(service.port)
  const results = { relays: [] as Figures[], tunnel: [] as Figures[] }
  for (let round = -1; round < rounds; round++) {
    for (const [name, road] of Object.entries({ relays, tunnel })) {
      const figures = await measure(road, { megabytes, roundTrips, connects })
      // The first round warms up.
      if (round >= 0) results[name as keyof typeof results].push(figures)
    }
  }
  const plain = medians(results.relays)
  const ours = medians(results.tunnel)
  return {
    tunnel: {
      downRatio: ratio(ours.downMBps, plain.downMBps),
      upRatio: ratio(ours.upMBps, plain.upMBps),
      rttRatio: ratio(ours.rttP50us, plain.rttP50us),
      connectRatio: ratio(ours.connectsPerSecond, plain.connectsPerSecond),
      parallelConnectRatio: ratio(ours.parallelConnectsPerSecond, plain.parallelConnectsPerSecond),
      ...ours,
      relays: plain,
    },
    memory,
  }
}

async function measure(
  { port }: Road,
  { megabytes, roundTrips, connects }: { megabytes: number; roundTrips: number; connects: number },
): Promise<Figures> {
  const bytes = megabytes * 1_000_000
  const downMBps = await measureDown(port, bytes)
  const upMBps = await measureUp(port, bytes)
  const times = (await measureRoundTrips(port, roundTrips)).sort((a, b) => a - b)
  return {
    downMBps,
    upMBps,
    rttP50us: quantile(times, 0.5),
    rttP99us: quantile(times, 0.99),
    connectsPerSecond: await measureConnects(port, connects, 1),
    parallelConnectsPerSecond: await measureConnects(port, connects * 2, 20),
  }
}

/** Fresh processes, so that nothing but idle tunnels is in the growth; a few first, so that code is loaded and buffers are made. */
async function benchIdleMemory(count: number): Promise<TunnelBench['memory']> {
  using service = await startService()
  using tunnel = await startTunnel(service.port)
  const warm = await openIdle(tunnel.port, 50)
  const before = await tunnel.memory()
  const sockets = await openIdle(tunnel.port, count)
  const after = await tunnel.memory()
  for (const socket of [...warm, ...sockets]) socket.destroy()
  const growth = (key: 'rss' | 'heap') => after.map((now, i) => (now[key] - (before[i]?.[key] ?? 0)) / count / 1024)
  const sum = (values: number[]) => round(values.reduce((a, b) => a + b, 0))
  return {
    tunnels: count,
    idleTunnelKB: sum(growth('rss')),
    idleTunnelHeapKB: sum(growth('heap')),
    perProcessKB: growth('rss').map(round),
  }
}

function medians(all: readonly Figures[]): Figures {
  const median = (key: keyof Figures) =>
    round(
      quantile(
        all.map(figures => figures[key]).sort((a, b) => a - b),
        0.5,
      ),
    )
  return {
    downMBps: median('downMBps'),
    upMBps: median('upMBps'),
    rttP50us: median('rttP50us'),
    rttP99us: median('rttP99us'),
    connectsPerSecond: median('connectsPerSecond'),
    parallelConnectsPerSecond: median('parallelConnectsPerSecond'),
  }
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN
}

function ratio(a: number, b: number): number {
  return Math.round((a / b) * 1000) / 1000
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

if (import.meta.main) console.log(JSON.stringify(await benchTunnel(), null, 2))
