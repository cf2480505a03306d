import {
  AppError,
  because,
  readSort,
  USAGE_DIMENSIONS,
  type UsageReport,
  type UsageReportQuery,
  type UsageReports,
} from '#manager/contract'
import { nextOffset, parseOffset } from '../offset-cursor.ts'
import { idleParts } from './idle-parts.ts'
import { type Store } from '../store/open-store.ts'
import { readUsageReport, readUsageReports, type Report } from '../store/quotas/usage-report.ts'
import { type Caller, visibleTo } from '../users/authorize.ts'

const GIB = 2 ** 30
const HOUR = 3600
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
export type PagedReportQuery = UsageReportQuery & {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}
export type FirstRowsQuery = Pick<UsageReportQuery, 'from' | 'to'> & {
  /** Number of rows per dimension. */
  readonly limit: number
}
/** Longest time of a report: it reads every session that ran in it. */
const MOST_DAYS = 400

/**
 * Resource use of sessions in a period, by user, project, domain, image or agent. Covers all sessions that the caller may see as
 * an admin.
 *
 * @throws AppError `bad_request`, also for a wrong cursor; `forbidden` for a caller who is no admin
 */
export async function readReportOf(
  { db, now }: Pick<Store, 'db' | 'now'>,
  caller: Caller,
  query: PagedReportQuery,
): Promise<UsageReport> {
  const period = periodOf(query, now())
  const { by, sort, search, limit, cursor } = query
  const offset = parseOffset(cursor)
  const report = await readUsageReport(db, {
    ...{ ...period, by, search, limit, offset, domain: domainOf(caller) },
    ...readSort(sort),
  })
  const first = firstRows(report)
  return {
    ...timesOf(period),
    ...first,
    nextCursor: nextOffset({ start: offset, count: first.items.length, total: first.total }),
  }
}

/** The first rows by every dimension. @throws as `readReportOf` */
export async function readReportsOf(
  { db, now }: Pick<Store, 'db' | 'now'>,
  caller: Caller,
  query: FirstRowsQuery,
): Promise<UsageReports> {
  const period = periodOf(query, now())
  const found = await readUsageReports(db, USAGE_DIMENSIONS, {
    ...period,
    domain: domainOf(caller),
    limit: query.limit,
  })
  return { ...timesOf(period), items: USAGE_DIMENSIONS.map(by => ({ by, ...firstRows(found[by]) })) }
}

function periodOf(
  query: Pick<UsageReportQuery, 'from' | 'to'>,
  now: number,
): { readonly from: Date; readonly to: Date } {
  const to = new Date(query.to ?? now)
  const from = query.from === undefined ? new Date(to.getTime() - DEFAULT_DAYS * DAY_MS) : new Date(query.from)
  if (from >= to) throw new AppError('bad_request', because('from_before_to'))
  if (to.getTime() - from.getTime() > MOST_DAYS * DAY_MS) {
    throw new AppError('bad_request', because('days_at_most', { limit: MOST_DAYS }))
  }
  return { from, to }
}

const timesOf = ({ from, to }: ReturnType<typeof periodOf>) => ({ from: from.toISOString(), to: to.toISOString() })

/** The domain whose sessions the caller may see as an admin; undefined: all. */
function domainOf(caller: Caller): string | undefined {
  const visible = visibleTo(caller)
  if (visible && visible.domain === undefined) throw new AppError('forbidden')
  return visible?.domain
}

const firstRows = ({ rows, totals }: Report) => ({
  total: totals.rows,
  sums: {
    cpuHours: rounded(totals.cpu_seconds / HOUR),
    memGibHours: rounded(totals.mem_byte_seconds / GIB / HOUR),
    gpuHours: rounded(totals.gpu_seconds / HOUR),
    gpuMeasuredHours: rounded(totals.gpu_measured_seconds / HOUR),
    gpuWastedHours: totals.gpu_wasted_seconds === null ? null : rounded(totals.gpu_wasted_seconds / HOUR),
  },
  items: rows.map(row => ({
    key: row.key,
    name: row.name,
    sessions: row.sessions,
    cpuHours: rounded(row.cpu_seconds / HOUR),
    memGibHours: rounded(row.mem_byte_seconds / GIB / HOUR),
    gpuHours: rounded(row.gpu_seconds / HOUR),
    ...idleParts(row),
    gpuWastedHours:
      row.gpu_measured_seconds > 0
        ? rounded(Math.max(0, row.gpu_measured_seconds - row.gpu_used_seconds) / HOUR)
        : null,
  })),
})

/** Hours rounded to a millionth: more precise than a hundredth of a second. */
const rounded = (value: number) => Math.round(value * 1e6) / 1e6
