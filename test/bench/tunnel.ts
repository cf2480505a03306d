import { measureConnects, measureDown, measureRoundTrips, measureUp } from './tunnel-load.ts'
import { TCP_APP } from './image.ts'
import { startHaproxies } from './haproxies.ts'
import { startRelays } from './relays.ts'
import { startBenchSession } from './session.ts'
import { median, quantile, round } from './statistics.ts'

const ROUNDS = 5
const BYTES = 300_000_000
const ROUND_TRIPS = 2_000
const CONNECTS = 300

/** The values that are compared with HAProxy. */
interface StreamMeasurements {
  readonly downMBps: number
  readonly upMBps: number
  readonly rttP50us: number
  readonly rttP99us: number
}

interface Measurements extends StreamMeasurements {
  readonly connectsPerSecond: number
  readonly parallelConnectsPerSecond: number
}

/**
 * A TCP service in a session's container through Berth, directly (ADR 41) and through proxy, manager and agent, against three plain relays in a row and three HAProxies in a
 * row to the same port of the same container; in turn, so that all see the same machine.
 */
export async function benchTunnel(stack: AsyncDisposableStack) {
  const { openTunnel, viaManager, address } = await startBenchSession(stack)
  const tunnel = await openTunnel(TCP_APP.name)
  const through = await (await viaManager()).openTunnel(TCP_APP.name)
  // Starts the app; the relays need it too.
  await measureRoundTrips(tunnel.port, 10)
  const relays = stack.use(await startRelays({ host: address, port: TCP_APP.port }))
  const haproxies = await startHaproxies(stack, { host: address, port: TCP_APP.port })
  const results = {
    relays: [] as Measurements[],
    tunnel: [] as Measurements[],
    viaManager: [] as Measurements[],
    haproxies: [] as StreamMeasurements[],
  }
  for (let i = 0; i <= ROUNDS; i++) {
    const plain = await measure(relays.port)
    const ours = await measure(tunnel.port)
    const remote = await measure(through.port)
    const yardstick = haproxies && (await measureStreams(haproxies.port))
    // The first round warms up.
    if (i === 0) continue
    results.relays.push(plain)
    results.tunnel.push(ours)
    results.viaManager.push(remote)
    if (yardstick) results.haproxies.push(yardstick)
  }
  // Compare neighbouring rounds, because the machine's speed changes from round to round.
  const compared = (ours: readonly Measurements[]) => {
    const ratio = (key: keyof Measurements) => ratioOf(ours, results.relays, key)
    const overHaproxy = (key: keyof StreamMeasurements) =>
      haproxies ? ratioOf<keyof StreamMeasurements>(ours, results.haproxies, key) : null
    return {
      downRatio: ratio('downMBps'),
      upRatio: ratio('upMBps'),
      rttRatio: ratio('rttP50us'),
      rttP99Ratio: ratio('rttP99us'),
      connectRatio: ratio('connectsPerSecond'),
      parallelConnectRatio: ratio('parallelConnectsPerSecond'),
      haproxy: {
        downRatio: overHaproxy('downMBps'),
        upRatio: overHaproxy('upMBps'),
        rttRatio: overHaproxy('rttP50us'),
      },
      ...medians(ours),
    }
  }
  return {
    tunnel: {
      ...compared(results.tunnel),
      viaManager: compared(results.viaManager),
      haproxies: haproxies ? medians(results.haproxies) : null,
      relays: medians(results.relays),
      rounds: ROUNDS,
    },
  }
}

function ratioOf<K extends string>(
  ours: readonly Readonly<Record<K, number>>[],
  theirs: readonly Readonly<Record<K, number>>[],
  key: K,
): number {
  return round(median(ours.map((figures, i) => figures[key] / (theirs[i]?.[key] ?? Number.NaN))))
}

async function measureStreams(port: number): Promise<StreamMeasurements> {
  const downMBps = await measureDown(port, BYTES)
  const upMBps = await measureUp(port, BYTES)
  const times = await measureRoundTrips(port, ROUND_TRIPS)
  return { downMBps, upMBps, rttP50us: quantile(times, 0.5), rttP99us: quantile(times, 0.99) }
}

async function measure(port: number): Promise<Measurements> {
  return {
    ...(await measureStreams(port)),
    connectsPerSecond: await measureConnects(port, CONNECTS, 1),
    parallelConnectsPerSecond: await measureConnects(port, CONNECTS * 2, 20),
  }
}

function medians<F extends { readonly [K in keyof F]: number }>(all: readonly F[]): F {
  const keys = Object.keys(all[0] ?? {}) as (keyof F)[]
  return Object.fromEntries(keys.map(key => [key, round(median(all.map(figures => figures[key])), 1)])) as F
}
