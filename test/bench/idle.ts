import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { startBerth } from '../fixtures/berth.ts'
import { buildBenchImage } from './image.ts'
import { round } from './statistics.ts'

const SESSIONS = 10
/** Time after which the work of a start (reading the engine, idle database connections) is done. */
const SETTLE_MS = 20_000
const WATCH_MS = 30_000
/** Clock ticks per second in `/proc/PID/stat`; the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Processor time of a whole `berth up` (supervisor, manager, agent, console and PostgreSQL) with ten sessions that do nothing. */
export async function benchIdle(stack: AsyncDisposableStack) {
  // The Python image asks for half a core per session.
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

/** Processor time in ticks of the process and all below it, by role; children that have ended are counted with their parents. */
async function ticksBelow(root: number): Promise<Map<string, number>> {
  const found = new Map<number, { parent: number; role: string; ticks: number }>()
  for (const name of await readdir('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const [stat, commandLine] = await Promise.all(
      ['stat', 'cmdline'].map(file => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    )
    // The name of the program is in parentheses and may contain spaces; `utime stime cutime cstime` are fields 14 to 17.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    if (fields.length < 15) continue
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    found.set(pid, { parent: Number(fields[1]), role: roleOf(commandLine ?? ''), ticks })
  }
  const isBelow = (pid: number): boolean => pid === root || (found.has(pid) && isBelow(found.get(pid)?.parent ?? 0))
  const byRole = new Map<string, number>()
  for (const [pid, { role, ticks }] of found) if (isBelow(pid)) byRole.set(role, (byRole.get(role) ?? 0) + ticks)
  return byRole
}

function roleOf(commandLine: string): string {
  if (commandLine.includes('manager/main.ts')) return 'manager'
  if (commandLine.includes('agent/main.ts')) return 'agent'
  if (commandLine.includes('proxy/web/main.ts')) return 'proxy'
  return commandLine.includes('postgres') ? 'database' : 'supervisor'
}
