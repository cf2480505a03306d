import { setTimeout as wait } from 'node:timers/promises'
import { startBerth } from '../fixtures/berth.ts'
import { buildBenchImage } from './image.ts'
import { TICKS_PER_SECOND, ticksBelow } from './processor-time.ts'
import { round } from './statistics.ts'

const SESSIONS = 10
/** Time after which the start (reading the engine, idle database connections) is finished. */
const SETTLE_MS = 20_000
const WATCH_MS = 30_000

/** Processor time of a whole `berth up` (supervisor, manager, agent, console and PostgreSQL) with ten sessions that do nothing. */
export async function benchIdle(stack: AsyncDisposableStack) {
  // The Python image requests half a core per session.
  const image = stack.use(await buildBenchImage())
  const berth = stack.use(await startBerth())
  const api = await berth.api()
  const body = { image: image.name, name: 'idle', count: SESSIONS, resources: { cpu: '0.1', mem: '64m' } }
  await api.createSession({ body })
  while ((await api.listSessions({ query: { status: 'RUNNING', limit: SESSIONS } })).total < SESSIONS) await wait(200)
  await wait(SETTLE_MS)
  const since = performance.now()
  const before = await ticksBelow(berth.pid)
  await wait(WATCH_MS)
  const after = await ticksBelow(berth.pid)
  const seconds = (performance.now() - since) / 1000
  const percent = (name: string) =>
    round((((after.get(name) ?? 0) - (before.get(name) ?? 0)) / TICKS_PER_SECOND / seconds) * 100)
  const names = [...after.keys()]
  return {
    idle: {
      cpuPercent: round(names.reduce((sum, name) => sum + percent(name), 0)),
      processesPercent: Object.fromEntries(names.map(name => [name, percent(name)])),
      sessions: SESSIONS,
      seconds: round(seconds, 0),
    },
  }
}
