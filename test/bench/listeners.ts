import { execIn } from '../fixtures/docker.ts'
import { residentMemory } from './servers.ts'
import { startBenchSession } from './session.ts'
import { median, quantile, round } from './statistics.ts'

const LISTENERS = 200
/** Tunnels opened in advance, so that code is loaded and buffers are allocated. */
const WARM_UP = 20
const FIRST_PORT = 20_000
const LAST_PORT = FIRST_PORT + 2 * LISTENERS + WARM_UP

/**
 * Opening many listeners of one user: one after the other, as a person's clicks and scripts do, and all at once; and what each costs
 * the process that holds them. Each leads to a port of its own in one session, through the whole path with the check that a
 * program listens there.
 */
export async function benchListeners(stack: AsyncDisposableStack) {
  const { berth, container, openTunnel } = await startBenchSession(stack)
  const listen = `for (let port = ${FIRST_PORT}; port < ${LAST_PORT}; port++) require('net').createServer(socket => socket.pipe(socket)).listen(port)`
  await execIn(container, '/bin/sh', '-c', `/bench/node -e "${listen}" >/dev/null 2>&1 &`)
  const name = (index: number) => `tcp-${FIRST_PORT + index}`
  const timed = async (index: number) => {
    const start = performance.now()
    await openTunnel(name(index))
    return performance.now() - start
  }
  for (let index = 0; index < WARM_UP; index++) await timed(index)

  const before = await residentMemory(berth, 'anonymous', true)
  const startOfTurns = performance.now()
  const turns: number[] = []
  for (let index = 0; index < LISTENERS; index++) turns.push(await timed(WARM_UP + index))
  const inTurnS = (performance.now() - startOfTurns) / 1_000
  const after = await residentMemory(berth, 'anonymous', true)

  const startOfAll = performance.now()
  await Promise.all(Array.from({ length: LISTENERS }, (_, index) => timed(WARM_UP + LISTENERS + index)))
  const atOnceS = (performance.now() - startOfAll) / 1_000
  return {
    listeners: {
      listeners: LISTENERS,
      inTurnS: round(inTurnS),
      eachMs: { median: round(median(turns), 1), p99: round(quantile(turns, 0.99), 1) },
      atOnceS: round(atOnceS),
      proxyKB: round((after.proxy - before.proxy) / LISTENERS / 1024, 1),
    },
  }
}
