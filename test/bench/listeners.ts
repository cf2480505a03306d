import { execIn } from '../fixtures/docker.ts'
import { residentMemory } from './servers.ts'
import { startBenchSession } from './session.ts'
import { median, quantile, round } from './statistics.ts'

const LISTENERS = 200
/**
 * The process grows in steps of megabytes, when V8 compiles or the C library allocates: as much as hundreds of listeners. The median of
 * several growths ignores such a step.
 */
const BATCHES = 5
/** Tunnels opened in advance, so that code is loaded and buffers are allocated. */
const WARM_UP = 20
const FIRST_PORT = 20_000
const LAST_PORT = FIRST_PORT + BATCHES * LISTENERS + WARM_UP

/**
 * Opening many listeners of one user: one after the other, as a person's clicks and scripts do, and then all at once, four times; and what
 * each costs the process that holds them. Each leads to a port of its own in one session, through the whole path with the check that a
 * program listens there.
 */
export async function benchListeners(stack: AsyncDisposableStack) {
  const { berth, container, openTunnel } = await startBenchSession(stack)
  const listen = `for (let port = ${FIRST_PORT}; port < ${LAST_PORT}; port++) require('net').createServer(socket => socket.pipe(socket)).listen(port)`
  await execIn(container, '/bin/sh', '-c', `/bench/node -e "${listen}" >/dev/null 2>&1 &`)
  let next = FIRST_PORT
  const timed = async () => {
    const start = performance.now()
    await openTunnel(`tcp-${next++}`)
    return performance.now() - start
  }
  for (let index = 0; index < WARM_UP; index++) await timed()

  const turns: number[] = []
  const durationsS: number[] = []
  const memory = async () => (await residentMemory(berth, 'anonymous', true)).proxy
  const sizes = [await memory()]
  for (let batch = 0; batch < BATCHES; batch++) {
    const start = performance.now()
    if (batch === 0) for (let index = 0; index < LISTENERS; index++) turns.push(await timed())
    else await Promise.all(Array.from({ length: LISTENERS }, timed))
    durationsS.push((performance.now() - start) / 1_000)
    sizes.push(await memory())
  }
  const growthsKB = sizes.slice(1).map((size, batch) => round((size - sizes[batch]!) / LISTENERS / 1024, 1))
  return {
    listeners: {
      listeners: LISTENERS,
      inTurnS: round(durationsS[0]!),
      eachMs: { median: round(median(turns), 1), p99: round(quantile(turns, 0.99), 1) },
      atOnceS: round(median(durationsS.slice(1))),
      proxyKB: round(median(growthsKB), 1),
      proxyKBOfBatches: growthsKB,
    },
  }
}
