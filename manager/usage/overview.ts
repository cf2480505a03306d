import {
  formatSlots,
  IDLE_GPU_MINUTES,
  type IdleOwner,
  type IdleTotals,
  type Overview,
  type ReasonCount,
  type SetUp,
} from '#manager/contract'
import { type AgentService } from '../agents/service.ts'
import { nextOffset, parseOffset } from '../offset-cursor.ts'
import { accessibleTo } from '../quotas/access.ts'
import { type SchedulingSwitch } from '../scheduler/pause.ts'
import { readAgentTotals } from '../store/agents/agent-list.ts'
import { countWaiting } from '../store/identity/sign-up-requests.ts'
import { countMatchingUsers } from '../store/identity/users.ts'
import { type IdleOwnerRow, type IdleTotalsRow, listIdleOwners } from '../store/sessions/idle-gpus.ts'
import { countReasons, type ReasonCountRow } from '../store/sessions/reason-counts.ts'
import { countSessions } from '../store/sessions/session-list.ts'
import { type Db } from '../store/schema.ts'
import { type Caller, isSuperadmin, visibleAccounts } from '../users/authorize.ts'

const FIRST = 5

export interface IdleQuery {
  readonly minutes: number
  readonly limit: number
  readonly cursor?: string | undefined
}

/** Idle GPUs by owner, among the sessions that the caller administers. @throws AppError `bad_request` for a wrong cursor */
export async function listIdleOf(
  db: Db,
  caller: Caller,
  { minutes, limit, cursor }: IdleQuery,
): Promise<{ items: IdleOwner[]; nextCursor: string | null } & IdleTotals> {
  const offset = parseOffset(cursor)
  const { domain } = visibleAccounts(caller)
  const { rows, totals } = await listIdleOwners(db, { domain, minutes, limit, offset })
  const nextCursor = nextOffset({ start: offset, count: rows.length, total: totals.owners })
  return { items: rows.map(toOwner), nextCursor, ...toTotals(totals) }
}

export interface OverviewDeps {
  readonly db: Db
  readonly agents: Pick<AgentService, 'summaries'>
  readonly scheduling: Pick<SchedulingSwitch, 'read'>
  readonly readSetUp: () => Promise<SetUp>
}

/** The administrators' overview, counted over everything that the caller administers. */
export async function readOverviewOf(
  { db, agents, scheduling, readSetUp }: OverviewDeps,
  caller: Caller,
  query: { readonly setUp?: boolean | undefined } = {},
): Promise<Overview> {
  const { domain } = visibleAccounts(caller)
  const groups = await accessibleTo(db, caller)
  const [totals, sessions, waiting, failed, idle, { paused }, signUpRequests, ofSuperadmins, setUp] = await Promise.all(
    [
      readAgentTotals(db, groups),
      countSessions(db, groups),
      countReasons(db, 'waiting', domain),
      countReasons(db, 'failed', domain),
      listIdleOwners(db, { domain, minutes: IDLE_GPU_MINUTES, limit: FIRST, offset: 0 }),
      scheduling.read(),
      countWaiting(db, domain),
      isSuperadmin(caller) ? readForSuperadmins(db, agents) : null,
      isSuperadmin(caller) && query.setUp ? readSetUp() : null,
    ],
  )
  const { connected, lost, gpus, capacity, occupied } = totals
  return {
    now: { capacity: formatSlots(capacity), occupied: formatSlots(occupied), agents: { connected, lost }, sessions },
    waiting: toReasons(waiting),
    failed: toReasons(failed),
    idle: { ...toTotals(idle.totals), owners: idle.rows.map(toOwner) },
    paused,
    signUpRequests,
    agents: ofSuperadmins && { ...ofSuperadmins.agents, gpus },
    superadmins: ofSuperadmins?.superadmins ?? null,
    setUp,
  }
}

async function readForSuperadmins(db: Db, agents: Pick<AgentService, 'summaries'>) {
  const [needy, superadmins] = await Promise.all([
    agents.summaries({ problems: true, sort: '-problems', limit: FIRST }),
    countMatchingUsers(db, { role: 'superadmin', active: true }),
  ])
  return { agents: { needy: needy.total, first: needy.items }, superadmins }
}

function toReasons(rows: readonly ReasonCountRow[]): Overview['waiting'] {
  return {
    total: rows.reduce((sum, { count }) => sum + count, 0),
    reasons: rows.map(({ count, id, name, reason }): ReasonCount => ({ count, newest: { id, name, reason } })),
  }
}

function toOwner({ owner_id, email, gpus, gpu_hours, sessions }: IdleOwnerRow): IdleOwner {
  return {
    ownerId: owner_id,
    ownerEmail: email,
    gpus: rounded(gpus),
    gpuHours: rounded(gpu_hours),
    sessions: sessions.map(one => ({
      id: one.id,
      name: one.name,
      image: one.image,
      clusterSize: one.size,
      gpus: rounded(one.gpus),
      since: new Date(one.since).toISOString(),
      gpuHours: rounded(one.hours),
    })),
  }
}

const toTotals = ({ owners, sessions, gpus, gpu_hours }: IdleTotalsRow): IdleTotals => ({
  total: owners,
  sessions,
  gpus: rounded(gpus),
  gpuHours: rounded(gpu_hours),
})

const rounded = (value: number) => Math.round(value * 1000) / 1000
