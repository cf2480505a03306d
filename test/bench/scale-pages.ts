import { ROUTES } from '#manager/contract'
import { type Server } from './scale.ts'
import { median, round } from './statistics.ts'

const ROUNDS = 5
const SHOWN = 8
/** Usual views of lists: orders, filters and searches. */
const VIEWS = [
  '/api/v1/sessions?limit=100',
  '/api/v1/sessions?limit=100&status=live',
  '/api/v1/sessions?limit=100&sort=name',
  '/api/v1/sessions?limit=100&sort=-owner',
  '/api/v1/sessions?limit=100&sort=-ended&status=finished',
  '/api/v1/sessions?limit=100&search=session-77',
  '/api/v1/users?limit=100&search=user-77',
  '/api/v1/audit-log?limit=100&sort=at',
]
/** Routes that ask a registry, make a large file, or never end. */
const LEFT_OUT = /export|bundle|updates|diagnos|openapi|\/events/

/** Every request without parameters that reads, and the usual views of lists: the slowest ones by their median. */
export async function slowestPages({ process, token }: Pick<Server, 'process' | 'token'>) {
  const plain = Object.values(ROUTES).flatMap(({ method, path }) =>
    method === 'GET' && !path.includes(':') && !LEFT_OUT.test(path) ? [path] : [],
  )
  const found: { path: string; medianMs: number; slowestMs: number }[] = []
  for (const path of new Set([...plain, ...VIEWS])) {
    const times: number[] = []
    for (let turn = 0; turn <= ROUNDS; turn++) {
      const start = performance.now()
      const reply = await fetch(`${process.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
      await reply.arrayBuffer()
      // Requests with a query that must be given are refused. The first time, nothing is cached.
      if (reply.ok && turn > 0) times.push(performance.now() - start)
    }
    if (times.length > 0)
      found.push({ path, medianMs: round(median(times), 1), slowestMs: round(Math.max(...times), 1) })
  }
  return { asked: found.length, slowest: found.toSorted((a, b) => b.medianMs - a.medianMs).slice(0, SHOWN) }
}

type Query = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Statements of the database in the run, those with the longest mean and those with the largest sum; the history itself was written before. */
export async function slowestStatements(query: Query) {
  const rows = await query(`select calls, mean_exec_time, total_exec_time, query from pg_stat_statements
    where query not like '%pg_stat_statements%' and calls >= 3
      and (query in (select query from pg_stat_statements order by total_exec_time desc limit ${SHOWN})
        or query in (select query from pg_stat_statements where calls >= 3 order by mean_exec_time desc limit ${SHOWN}))
    order by mean_exec_time desc`)
  return rows.map(({ calls, mean_exec_time: mean, total_exec_time: total, query: text }) => ({
    calls: Number(calls),
    meanMs: round(Number(mean), 1),
    totalSeconds: round(Number(total) / 1000, 1),
    statement: String(text).replaceAll(/\s+/g, ' ').slice(0, 300),
  }))
}
