import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AgentId,
  KernelId,
  SessionId,
  USAGE_DIMENSIONS,
  USAGE_ORDERS,
  type UsageOrder,
  UserId,
} from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { recountDays, sumEndedSessions } from '../../../manager/store/quotas/usage-days.ts'
import { type HistoryRange, readUsageHistory } from '../../../manager/store/quotas/usage-history.ts'
import { readUsageReport, readUsageReports, type ReportRow } from '../../../manager/store/quotas/usage-report.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { recountAll } from '../../../manager/usage/daily-sums.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/**
 * Reports and histories from daily and hourly sums, compared with sums over the sessions' own times that this file calculates in
 * JavaScript.
 */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 2, 1)
const DAYS = 10
const SESSIONS = 120

interface Run {
  readonly agent: AgentId
  readonly from: number
  readonly to: number
  readonly cpuSeconds: number | null
  /** Bytes read by the whole session in the run; the bytes written, received and sent are two, three and four times that. */
  readonly readBytes: number
  /** Sums of the session's statistics in the run, and their number of kernels. */
  readonly sums: Sums | null
  readonly among: number
}
interface Sums {
  readonly seconds: number
  readonly memByteSeconds: number
  readonly gpuSeconds: number
  readonly gpuUsedSeconds: number
}
interface Made {
  readonly id: SessionId
  readonly owner: UserId
  readonly image: string
  readonly domain: string
  cores: number
  readonly gpus: number
  /** Runs of the kernels, an entry for each run of each kernel. */
  runs: Run[]
}

const stack = new AsyncDisposableStack()
let opened: TestStore
let store: Store
const owners: UserId[] = []
const agents: AgentId[] = []
let made: Made[] = []

/** The same numbers in each run of the test. */
let seed = 42
const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
const someTime = () => START + Math.floor(random() * DAYS * 24 * HOUR)

/** Sums of statistics for most of the time of a run; sometimes without its GPUs. */
function someSums(seconds: number): Sums {
  const known = Math.floor(seconds * (0.5 + random() / 2))
  const gpuSeconds = random() < 0.3 ? 0 : known * random()
  const memByteSeconds = known * 2 ** 29 * random()
  return { seconds: known, memByteSeconds, gpuSeconds, gpuUsedSeconds: gpuSeconds * random() }
}

const ioOf = (bytes: number) => ({
  diskReadBytes: bytes,
  diskWriteBytes: 2 * bytes,
  netRxBytes: 3 * bytes,
  netTxBytes: 4 * bytes,
})

async function insert(begins?: number, ends?: number): Promise<Made> {
  const [id, owner, image, domain] = [newId(SessionId), pick(owners), pick(['a', 'b', 'c']), pick(['default', 'lab'])]
  const [cores, gpus, size] = [1 + Math.floor(random() * 4), Math.floor(random() * 3), random() < 0.2 ? 2 : 1]
  // Some begin at midnight, some end at the moment at which they began, some take days.
  const from = begins ?? (random() < 0.1 ? START + Math.floor(random() * DAYS) * 24 * HOUR : someTime())
  const to = ends ?? from + Math.floor(pick([0, 1, 5, 24, 60]) * random() * HOUR)
  const requested = { cpu: cores * 1000, mem: 2 ** 30, 'cuda.device': gpus }
  const agent = pick(agents)
  const measured = random() < 0.5 ? Math.floor(random() * 5000) : null
  const sums = measured === null ? null : someSums((to - from) / 1000)
  const readBytes = measured === null ? 0 : Math.floor(random() * 2 ** 30)
  const wasInterrupted = random() < 0.15
  const row = aSessionRow(owner, { id, image, domain, requested, status: 'TERMINATED', clusterSize: size })
  await insertSessions(store.db, [row])
  await sql`update sessions set started_at = ${new Date(from)}, ended_at = ${new Date(to)}, interruptions = ${wasInterrupted ? 1 : 0}
    where id = ${id}`.execute(store.db)
  const runs: Run[] = []
  for (let n = 0; n < size; n++) {
    const kernel = newId(KernelId)
    await insertKernels(store.db, [{ id: kernel, sessionId: id, status: 'TERMINATED', slots: requested }])
    // The second kernel ends in the middle.
    const ended = n === 0 ? to : from + Math.floor((to - from) / 2)
    await sql`update kernels set agent_id = ${agent}, ended_at = ${new Date(ended)} where id = ${kernel}`.execute(
      store.db,
    )
    const cpuSeconds = measured === null ? null : measured / size
    runs.push({ agent, from, to: ended, cpuSeconds, readBytes, sums, among: size })
  }
  if (measured !== null) {
    await sql`insert into session_stats_minutes (session_id, minute, stats)
      values (${id}, ${new Date(from)}, ${JSON.stringify({ cpuSeconds: measured, samples: 60, sums, ...ioOf(readBytes) })})`.execute(
      store.db,
    )
  }
  if (wasInterrupted) {
    // An earlier run elsewhere, days before.
    const earlier = from - Math.floor(random() * 50 * HOUR)
    const ended = earlier + Math.floor((from - earlier) / 3)
    const then = random() < 0.5 ? someSums((ended - earlier) / 1000) : null
    const times = { agent: pick(agents), from: earlier, to: ended }
    const run: Run = { ...times, cpuSeconds: null, readBytes: 0, sums: then, among: size }
    const stats = then && JSON.stringify({ sums: then })
    await sql`insert into past_kernels (kernel_id, session_id, agent_id, attempt, devices, started_at, ended_at, stats)
      values (${newId(KernelId)}, ${id}, ${run.agent}, 1, '[]', ${new Date(run.from)}, ${new Date(run.to)}, ${stats}::jsonb)`.execute(
      store.db,
    )
    runs.push(run)
  }
  return { id, owner, image, domain, cores, gpus, runs }
}

interface Expected {
  readonly ids: Set<string>
  read: number
  cpu: number
  gpu: number
  used: number
  measured: number
  gpuUsed: number
  gpuMeasured: number
  memUsed: number
  memMeasured: number
}

const NONE = { read: 0, cpu: 0, gpu: 0, used: 0, measured: 0, gpuUsed: 0, gpuMeasured: 0, memUsed: 0, memMeasured: 0 }

/** Sums of the resources held between two moments, by key. */
function expected(by: (typeof USAGE_DIMENSIONS)[number] | 'all', from: number, to: number, domain: string | undefined) {
  const found = new Map<string, Expected>()
  for (const { id, owner, image, domain: its, cores, gpus, runs } of made) {
    if (domain !== undefined && its !== domain) continue
    for (const run of runs) {
      if (run.from >= to || !(run.to > from || run.from >= from)) continue
      const key = { user: owner, project: '', domain: its, image, agent: run.agent, all: '' }[by]
      const sum = found.get(key) ?? { ids: new Set(), ...NONE }
      found.set(key, sum)
      const held = (Math.min(run.to, to) - Math.max(run.from, from)) / 1000
      sum.ids.add(id)
      sum.cpu += cores * held
      sum.gpu += gpus * held
      const whole = Math.max((run.to - run.from) / 1000, 1)
      sum.read += ((run.readBytes / run.among) * held) / whole
      if (run.sums) {
        const { seconds, memByteSeconds, gpuSeconds, gpuUsedSeconds } = run.sums
        const [known, gpusKnown] = [Math.min(1, seconds / whole) * held, Math.min(1, gpuSeconds / whole) * held]
        sum.memMeasured += 2 ** 30 * known
        if (seconds > 0) sum.memUsed += (memByteSeconds / seconds / run.among) * known
        sum.gpuMeasured += gpus * gpusKnown
        if (gpuSeconds > 0) sum.gpuUsed += gpus * gpusKnown * (gpuUsedSeconds / gpuSeconds)
      }
      if (run.cpuSeconds === null) continue
      sum.used += (run.cpuSeconds * held) / whole
      sum.measured += cores * held
    }
  }
  return found
}

const rounded = (values: readonly number[]) => values.map(value => Math.round(value * 1000) / 1000)
/** Bytes as MiB: the last digits of large sums depend on the order of adding. */
const MIB = 2 ** 20
const figuresOf = ({ ids, read: _, memUsed, memMeasured, ...sums }: Expected) =>
  rounded([ids.size, ...Object.values(sums), memUsed / MIB, memMeasured / MIB])
const shownOf = (row: Omit<ReportRow, 'key' | 'name'>) =>
  rounded([
    ...[row.sessions, row.cpu_seconds, row.gpu_seconds, row.cpu_used_seconds, row.cpu_measured_seconds],
    ...[row.gpu_used_seconds, row.gpu_measured_seconds],
    ...[row.mem_used_byte_seconds / MIB, row.mem_measured_byte_seconds / MIB],
  ])

/** Compares every kind of report over whole days, parts of days, a part of one day, and everything; and histories. */
async function compareAll(what: string): Promise<void> {
  await compareHistories(what)
  const day = 24 * HOUR
  const times = [
    [START, START + DAYS * day],
    [START + 2 * day, START + 5 * day],
    [START + 2.3 * day, START + 6.7 * day],
    [START + 3.2 * day, START + 3.4 * day],
    [START - 5 * day, START + 2 * DAYS * day],
    [someTime(), START + DAYS * day],
  ] as const
  for (const [from, to] of times) {
    await compareReports(what, from, to)
  }
}

async function compareReports(what: string, from: number, to: number): Promise<void> {
  for (const domain of [undefined, 'lab']) {
    const time = { from: new Date(from), to: new Date(to), domain }
    const reports = await readUsageReports(store.db, USAGE_DIMENSIONS, time)
    for (const by of USAGE_DIMENSIONS) {
      const wanted = [...expected(by, from, to, domain)].map(([key, sums]) => [key, figuresOf(sums)])
      expect(
        Object.fromEntries(reports[by].rows.map(row => [row.key, shownOf(row)])),
        `${what}, by ${by}, ${time.from.toISOString()} to ${time.to.toISOString()}`,
      ).toEqual(Object.fromEntries(wanted))
    }
  }
}

const DAY = 24 * HOUR
const ALL_DAYS = { from: new Date(START - 2 * DAY), to: new Date(START + (DAYS + 2) * DAY) }
/** The clocks of New York change on 8 March; no day of Kolkata consists of whole hours of UTC. */
const HISTORIES: readonly HistoryRange[] = [
  { unit: 'hour', from: new Date(START + DAY), to: new Date(START + 4.3 * DAY), timeZone: 'UTC' },
  { unit: 'hour', from: new Date(START + DAY), to: new Date(START + 2.3 * DAY), timeZone: 'Asia/Kolkata' },
  ...['UTC', 'Asia/Seoul', 'Asia/Kolkata', 'America/New_York'].map(
    timeZone => ({ unit: 'day', ...ALL_DAYS, timeZone }) as const,
  ),
  { unit: 'week', ...ALL_DAYS, timeZone: 'Asia/Seoul' },
]

async function compareHistories(what: string): Promise<void> {
  for (const range of HISTORIES) {
    for (const domain of [undefined, 'lab']) {
      const rows = await readUsageHistory(store.db, { domain }, range)
      const length = { hour: HOUR, day: DAY, week: 7 * DAY }[range.unit]
      const wanted = rows.map(({ at }, index) => {
        const to = rows[index + 1]?.at.getTime() ?? at.getTime() + length
        const sums = expected('all', at.getTime(), to, domain).get('') ?? { ids: new Set(), ...NONE }
        return [at, ...figuresOf(sums), ...rounded([1, 2, 3, 4].map(times => (times * sums.read) / MIB))]
      })
      const shown = rows.map(row => {
        const io = [row.read_bytes, row.written_bytes, row.received_bytes, row.sent_bytes]
        return [row.at, ...shownOf(row), ...rounded(io.map(bytes => bytes / MIB))]
      })
      expect(shown, `${what}, history by ${range.unit} in ${range.timeZone}`).toEqual(wanted)
    }
  }
}

const sumAll = async () => {
  while ((await store.transaction(trx => recountDays(trx))).isMore);
  while (await store.transaction(trx => sumEndedSessions(trx)));
}
const count = async (table: 'usage_days' | 'usage_weeks' | 'usage_hours' | 'usage_recounts') =>
  (
    await store.db
      .selectFrom(table)
      .select(sql<number>`count(*)`.as('rows'))
      .executeTakeFirstOrThrow()
  ).rows

beforeAll(async () => {
  opened = stack.use(await openTestStore())
  ;({ store } = opened)
  await sql`insert into domains (name) values ('lab')`.execute(store.db)
  for (let n = 0; n < 4; n++) {
    const id = newId(UserId)
    await insertUser(store.db, { id, email: `u${n}@example.org`, name: 'U', role: 'user', password_hash: 'x' })
    owners.push(id)
  }
  for (let n = 0; n < 3; n++) agents.push(await insertAgent(store.db))
  for (let n = 0; n < SESSIONS; n++) made.push(await insert())
})
afterAll(() => stack.disposeAsync())

test('reports from daily sums equal a sum over the sessions, before, while and after sums are made', async () => {
  await compareAll('no sums yet')
  expect(await count('usage_days')).toBe(0)
  await sumAll()
  expect(await count('usage_days')).toBeGreaterThan(100)
  expect(await count('usage_weeks')).toBeGreaterThan(20)
  expect(await count('usage_hours')).toBeGreaterThan(300)
  await compareAll('all summed')
  for (let n = 0; n < 10; n++) made.push(await insert())
  await compareAll('ten more')
  await sumAll()
  await compareAll('ten more summed')
})

test('a session that is changed, or deleted with its project, leaves the sums at once', async () => {
  const [deleted, changed, moved] = made.filter(({ runs }) => runs.length === 1)
  if (!deleted || !changed || !moved) throw new Error('three sessions')
  await sql`delete from sessions where id = ${deleted.id}`.execute(store.db)
  made = made.filter(one => one !== deleted)
  changed.cores = 7
  await sql`update sessions set requested = requested || '{"cpu":7000}' where id = ${changed.id}`.execute(store.db)
  const [run] = moved.runs
  const agent = agents.find(id => id !== run?.agent)
  if (!run || !agent) throw new Error('another agent')
  moved.runs = [{ ...run, agent }]
  await sql`update kernels set agent_id = ${agent} where session_id = ${moved.id}`.execute(store.db)
  expect(await count('usage_recounts')).toBe(3)
  await compareAll('changed')
  await sumAll()
  expect(await count('usage_recounts')).toBe(0)
  await compareAll('counted anew')
})

/** The rows of `usage_weeks`; the last digits of sums depend on the order of adding. */
async function weeks(): Promise<Record<string, number[]>> {
  const { rows } = await sql<{ row: string; sums: number[] }>`
    select concat_ws(' ', dimension, week, domain, key) as row, array[sessions, begun, cpu_seconds, gpu_seconds, cpu_used_seconds,
      cpu_measured_seconds, gpu_used_seconds, gpu_measured_seconds, mem_byte_seconds / 1e6, mem_used_byte_seconds / 1e6] as sums
    from usage_weeks`.execute(store.db)
  return Object.fromEntries(rows.map(({ row, sums }) => [row, rounded(sums)]))
}

test('maintenance finds wrong sums and corrects them', async () => {
  await sumAll()
  const fromSessions = await weeks()
  expect(await recountAll(store, silentLog)).toBe(0)
  expect(await weeks()).toEqual(fromSessions)
  await sql`update usage_days set gpu_used_seconds = gpu_used_seconds + 1 where dimension = 'image' and day = '2026-03-04'`.execute(
    store.db,
  )
  await sql`delete from usage_days where day = '2026-03-06'`.execute(store.db)
  await sql`update usage_weeks set cpu_seconds = 1 where week = '2026-03-02'`.execute(store.db)
  await sql`update usage_hours set sent_bytes = sent_bytes + 1e9 where hour = '2026-03-08T10:00:00Z' and domain = 'lab'`.execute(
    store.db,
  )
  expect(await recountAll(store, silentLog)).toBe(3)
  await compareAll('corrected')
  expect(await recountAll(store, silentLog)).toBe(0)
})

test('the first rows by every dimension, read at once, are those of the reports by one', async () => {
  const query = { from: new Date(START + DAY / 3), to: new Date(START + DAYS * DAY), limit: 2, offset: 1 }
  const reports = await readUsageReports(store.db, USAGE_DIMENSIONS, query)
  for (const by of USAGE_DIMENSIONS) {
    const one = await readUsageReport(store.db, { ...query, by })
    expect(reports[by].rows.map(({ key, name }) => [key, name])).toEqual(one.rows.map(({ key, name }) => [key, name]))
    expect(reports[by].rows.map(shownOf)).toEqual(one.rows.map(shownOf))
    expect(reports[by].totals.rows).toBe(one.totals.rows)
    expect(reports[by].totals.gpu_seconds).toBeCloseTo(one.totals.gpu_seconds)
  }
})

test('a report until now takes the day that is not over from the sums; a report until a moment before does not', async () => {
  const now = Date.now()
  for (let n = 0; n < 20; n++) {
    const ended = now - 6 * MINUTE - Math.floor(random() * 20 * HOUR)
    made.push(await insert(ended - Math.floor(random() * 30 * HOUR), ended))
  }
  made.push(await insert(now - 7 * MINUTE, now - 6 * MINUTE))
  for (let n = 0; n < 3; n++) made.push(await insert(now - HOUR, now - MINUTE))
  await sumAll()
  const from = now - 3 * DAY
  for (const to of [now, now - 3 * MINUTE, now - 5 * MINUTE, now - 7 * MINUTE, now - 2 * HOUR]) {
    await compareReports(`${(now - to) / MINUTE} minutes ago`, from, to)
  }
  const sessionsOf = async (to: number) => {
    const { rows } = await readUsageReport(store.db, { by: 'domain', from: new Date(from), to: new Date(to) })
    return rows.reduce((sum, row) => sum + row.sessions, 0)
  }
  const [until, before] = [await sessionsOf(now), await sessionsOf(now - 6 * MINUTE)]
  for (const unit of ['day', 'week']) {
    const [table, column] = [sql.table(`usage_${unit}s`), sql.ref(unit)]
    await sql`update ${table} set begun = begun + 1
      where dimension = 'domain' and ${column} = (select max(${column}) from ${table})`.execute(store.db)
  }
  expect(await sessionsOf(now)).toBeGreaterThan(until)
  expect(await sessionsOf(now - 6 * MINUTE)).toBe(before)
})

test('a report comes in pages of every order, searched by name, with the totals of all rows', async () => {
  const all = { by: 'user', from: new Date(START), to: new Date(START + DAYS * DAY) } as const
  const whole = await readUsageReport(store.db, all)
  expect(whole.rows.map(({ name }) => name).toSorted()).toEqual(['u0', 'u1', 'u2', 'u3'].map(u => `${u}@example.org`))
  const byGpu = whole.rows.map(row => row.gpu_seconds)
  expect(byGpu).toEqual(byGpu.toSorted((a, b) => b - a))
  const sum = (read: (row: ReportRow) => number) => whole.rows.reduce((total, row) => total + read(row), 0)
  const { totals } = whole
  expect(totals.rows).toBe(4)
  expect(totals.cpu_seconds).toBeCloseTo(sum(row => row.cpu_seconds))
  expect(totals.gpu_wasted_seconds).toBeCloseTo(
    sum(row => Math.max(0, row.gpu_measured_seconds - row.gpu_used_seconds)),
  )
  const values: Record<UsageOrder, (row: ReportRow) => number | string> = {
    name: ({ name }) => name,
    sessions: ({ sessions }) => sessions,
    cpu: row => row.cpu_seconds,
    mem: row => row.mem_byte_seconds,
    gpu: row => row.gpu_seconds,
    cpuUsed: row => row.cpu_used_seconds / row.cpu_measured_seconds,
    memUsed: row => row.mem_used_byte_seconds / row.mem_measured_byte_seconds,
    gpuUsed: row => row.gpu_used_seconds / row.gpu_measured_seconds,
    gpuWasted: row => row.gpu_measured_seconds - row.gpu_used_seconds,
  }
  for (const order of USAGE_ORDERS) {
    for (const descending of [false, true]) {
      const found: ReportRow[] = []
      for (let offset = 0; offset < 4; offset += 3) {
        const page = await readUsageReport(store.db, { ...all, order, descending, limit: 3, offset })
        expect(page.totals).toEqual(totals)
        found.push(...page.rows)
      }
      expect(found).toHaveLength(4)
      const sorted = found.map(values[order])
      const rising = sorted.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
      expect(sorted, `${order} ${descending}`).toEqual(descending ? rising.toReversed() : rising)
    }
  }
  const found = await readUsageReport(store.db, { ...all, search: 'U2@' })
  expect(found.rows.map(({ name }) => name)).toEqual(['u2@example.org'])
  expect(found.rows.map(shownOf)).toEqual(whole.rows.filter(({ name }) => name === 'u2@example.org').map(shownOf))
  expect(found.totals).toMatchObject({ rows: 1, cpu_seconds: found.rows[0]?.cpu_seconds })
  const beyond = await readUsageReport(store.db, { ...all, limit: 3, offset: 9 })
  expect(beyond).toEqual({ rows: [], totals })
})
