import { measureConnects, measureDown, measureRoundTrips, measureUp } from './tunnel-load.ts'
import { TCP_APP } from './image.ts'
import { startRelays } from './relays.ts'
import { startBenchSession } from './session.ts'
import { median, quantile, round } from './statistics.ts'

const ROUNDS = 5
const BYTES = 300_000_000
const ROUND_TRIPS = 2_000
const CONNECTS = 300

interface Figures {
  readonly downMBps: number
  readonly upMBps: number
  readonly rttP50us: number
  readonly rttP99us: number
  readonly connectsPerSecond: number
  readonly parallelConnectsPerSecond: number
}

/**
 * A TCP service in a session's container through proxy, manager and agent, against three plain relays in a row to the same port of the
 * same container; in turn, so that both see the same machine.
 */
export async function benchTunnel(stack: AsyncDisposableStack) {
  const { openTunnel, address } = await startBenchSession(stack)
  const tunnel = await openTunnel(TCP_APP.name)
  // Starts the app; the relays need it too.
  await measureRoundTrips(tunnel.port, 10)
  const relays = stack.use(await startRelays({ host: address, port: TCP_APP.port }))
  const results = { relays: [] as Figures[], tunnel: [] as Figures[] }
  for (let i = 0; i <= ROUNDS; i++) {
    const plain = await measure(relays.port)
    const ours = await measure(tunnel.port)
    // The first round warms up.
    if (i === 0) continue
    results.relays.push(plain)
    results.tunnel.push(ours)
  }
  const plain = medians(results.relays)
  const ours = medians(results.tunnel)
  // Of each pair of neighbours, because the machine changes from round to round.
  const ratio = (key: keyof Figures) =>
    round(median(results.tunnel.map((figures, i) => figures[key] / (results.relays[i]?.[key] ?? Number.NaN))))
  return {
    tunnel: {
      downRatio: ratio('downMBps'),
      upRatio: ratio('upMBps'),
      rttRatio: ratio('rttP50us'),
      rttP99Ratio: ratio('rttP99us'),
      connectRatio: ratio('connectsPerSecond'),
      parallelConnectRatio: ratio('parallelConnectsPerSecond'),
      ...ours,
      relays: plain,
      rounds: ROUNDS,
    },
  }
}

async function measure(port: number): Promise<Figures> {
  const downMBps = await measureDown(port, BYTES)
  const upMBps = await measureUp(port, BYTES)
  const times = await measureRoundTrips(port, ROUND_TRIPS)
  return {
    downMBps,
    upMBps,
    rttP50us: quantile(times, 0.5),
    rttP99us: quantile(times, 0.99),
    connectsPerSecond: await measureConnects(port, CONNECTS, 1),
    parallelConnectsPerSecond: await measureConnects(port, CONNECTS * 2, 20),
  }
}

function medians(all: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => round(median(all.map(figures => figures[key])), 1)
  return {
    downMBps: of('downMBps'),
    upMBps: of('upMBps'),
    rttP50us: of('rttP50us'),
    rttP99us: of('rttP99us'),
    connectsPerSecond: of('connectsPerSecond'),
    parallelConnectsPerSecond: of('parallelConnectsPerSecond'),
  }
}
