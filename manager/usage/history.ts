import { AppError, because, type UsageHistory, type UsageHistoryQuery } from '#manager/contract'
import { findGroup, listMemberships } from '../store/identity/groups.ts'
import { type HistoryScope, readUsageHistory } from '../store/quotas/usage-history.ts'
import { idleParts } from './idle-parts.ts'
import { type Store } from '../store/open-store.ts'
import { administers, type Caller, visibleTo } from '../users/authorize.ts'

const GIB = 2 ** 30
const HOUR = 3600
const DAY_MS = 86_400_000
/** Default length of a history, in periods. */
const DEFAULT_PERIODS = { hour: 24, day: 30, week: 12 } as const
/** Longest history, in periods: a request reads every session that ran in it. */
const MOST_PERIODS = 200
const LENGTH_MS = { hour: HOUR * 1000, day: DAY_MS, week: 7 * DAY_MS } as const

/**
 * Resource use of sessions by hour, day or week: the caller's own sessions, those of a project of the caller, or all that the caller may
 * see.
 *
 * @throws AppError `group_not_found`, `bad_request`, `forbidden` for `all` if the caller is no administrator
 */
export async function readHistoryOf(
  { db, now }: Pick<Store, 'db' | 'now'>,
  caller: Caller,
  query: UsageHistoryQuery,
): Promise<UsageHistory> {
  const { by, timeZone } = query
  const to = query.to === undefined ? new Date(now()) : new Date(query.to)
  const length = LENGTH_MS[by]
  const from =
    query.from === undefined ? new Date(to.getTime() - (DEFAULT_PERIODS[by] - 1) * length) : new Date(query.from)
  if (from >= to) throw new AppError('bad_request', because('from_before_to'))
  if (to.getTime() - from.getTime() > MOST_PERIODS * length) {
    throw new AppError('bad_request', because('periods_at_most', { limit: MOST_PERIODS }))
  }
  const rows = await readUsageHistory(db, await scopeOf({ db }, caller, query), { unit: by, from, to, timeZone })
  return {
    items: rows.map(row => ({
      at: row.at.toISOString(),
      sessions: row.sessions,
      cpuHours: rounded(row.cpu_seconds / HOUR),
      memGibHours: rounded(row.mem_byte_seconds / GIB / HOUR),
      gpuHours: rounded(row.gpu_seconds / HOUR),
      ...idleParts(row),
      readBytes: Math.round(row.read_bytes),
      writtenBytes: Math.round(row.written_bytes),
      receivedBytes: Math.round(row.received_bytes),
      sentBytes: Math.round(row.sent_bytes),
    })),
  }
}

async function scopeOf({ db }: Pick<Store, 'db'>, caller: Caller, query: UsageHistoryQuery): Promise<HistoryScope> {
  const { groupId, scope } = query
  if (groupId !== undefined) {
    const group = await findGroup(db, groupId)
    const member = group && (await listMemberships(db, caller.userId)).some(({ id }) => id === groupId)
    if (!group || (!member && !administers(caller, group.domain))) throw new AppError('group_not_found', { groupId })
    return { groupId }
  }
  if (scope === 'mine') return { ownerId: caller.userId }
  const visible = visibleTo(caller)
  if (visible === undefined) return {}
  if (visible.domain === undefined) throw new AppError('forbidden')
  return { domain: visible.domain }
}

const rounded = (value: number) => Math.round(value * 1000) / 1000
