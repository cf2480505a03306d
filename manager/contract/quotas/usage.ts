import { z } from 'zod'
import { CauseFields, TextKeys } from '../causes/fields.ts'
import { AgentId, GroupId, KernelId, SessionId } from '../ids.ts'
import { GpuLimitUse } from './gpu-limits.ts'
import { DateTime, PlainText } from '../plain-text.ts'
import { WireSlots } from '../agents/resource-slots.ts'
import { sortBy } from '../sort.ts'
import { TimeZone } from '../operation/time-zone.ts'

/** Kinds of holders with limits, in the order in which the limits are checked. */
export const SCOPE_KINDS = ['user', 'keypair', 'group', 'domain'] as const

/**
 * Amounts that one user, keypair, group or domain may hold, holds, and may still request. The held amount is a sum over
 * everything that runs now.
 */
export const ScopeUsage = z
  .object({
    kind: z.enum(SCOPE_KINDS),
    id: z.string().describe('User id, access key, group id, or name of the domain.'),
    name: z.string(),
    policy: z.string().nullable().describe('Resource policy of a user or keypair.'),
    limits: WireSlots.describe('A missing slot is unlimited.'),
    held: WireSlots,
    left: WireSlots.describe('Rest of the limited slots; never below 0.'),
    gpuLimits: z.array(GpuLimitUse).optional().describe('Limits on the GPUs of single models; left out without any.'),
    maxSessions: z.int().nullable(),
    sessions: z.int().describe('Number of sessions that hold resources now.'),
  })
  .meta({ id: 'ScopeUsage' })
export type ScopeUsage = z.infer<typeof ScopeUsage>

const idle = (what: string) =>
  z.number().nullable().describe(`Part of the held ${what} that was not used, 0 to 1; null without figures.`)

/** Sessions and periods that a history covers. */
export const UsageHistoryQuery = z.object({
  by: z.enum(['hour', 'day', 'week']).default('day'),
  from: DateTime().optional().describe('Default: 24 hours, 30 days or 12 weeks before `to`.'),
  to: DateTime().optional().describe('Default: now.'),
  scope: z.enum(['mine', 'all']).default('mine').describe('`all`, for admins: every session that the caller may see.'),
  groupId: GroupId.optional().describe('All sessions of this group (project) instead.'),
  timeZone: TimeZone.default('UTC').describe('Days begin at midnight in this time zone, weeks on Monday.'),
})
export type UsageHistoryQuery = z.infer<typeof UsageHistoryQuery>

/** Amounts that sessions held in each period while they ran. */
export const UsageHistory = z
  .object({
    items: z
      .array(
        z.object({
          at: z.iso.datetime().describe('Begin of the period.'),
          sessions: z.int().describe('Sessions that ran in the period.'),
          cpuHours: z.number().describe('Cores held, times hours.'),
          memGibHours: z.number().describe('GiB of memory held, times hours.'),
          gpuHours: z.number().describe('GPUs and GPU shares held, times hours.'),
          cpuIdle: idle('CPU time'),
          gpuIdle: idle('GPU time'),
          memIdle: idle('memory'),
          readBytes: z
            .number()
            .describe('Bytes read from disks, written, received and sent, spread evenly over each run.'),
          writtenBytes: z.number(),
          receivedBytes: z.number(),
          sentBytes: z.number(),
        }),
      )
      .describe('Oldest first, without gaps.'),
  })
  .meta({ id: 'UsageHistory' })
export type UsageHistory = z.infer<typeof UsageHistory>

/** Dimensions by which a report of usage adds up. */
export const USAGE_DIMENSIONS = ['user', 'project', 'domain', 'image', 'agent'] as const
/** Orders of a report; with `-`, descending. `Used` is the used part of the held amounts; unknown sorts below 0. */
export const USAGE_ORDERS = [
  'name',
  'sessions',
  'cpu',
  'mem',
  'gpu',
  'cpuUsed',
  'memUsed',
  'gpuUsed',
  'gpuWasted',
] as const
export type UsageOrder = (typeof USAGE_ORDERS)[number]
export const UsageSort = sortBy(USAGE_ORDERS)
export type UsageSort = z.infer<typeof UsageSort>
export const UsageReportQuery = z.object({
  by: z.enum(USAGE_DIMENSIONS).default('user'),
  from: DateTime().optional().describe('Default: 30 days before `to`.'),
  to: DateTime().optional().describe('Default: now.'),
  sort: UsageSort.default('-gpu').describe('Rows with the same value: the most core-hours first.'),
  search: PlainText(254).optional().describe('Part of the name, in any letter case.'),
})
export type UsageReportQuery = z.infer<typeof UsageReportQuery>

/** Resource use of sessions in a period, by user, project, domain, image or agent. */
export const UsageReport = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    items: z
      .array(
        z.object({
          key: z.string().describe('Id of the user, project or agent; name of the domain; reference of the image.'),
          name: z.string(),
          sessions: z.int().describe('Sessions that ran in the time.'),
          cpuHours: z.number().describe('Cores held, times hours.'),
          memGibHours: z.number().describe('GiB of memory held, times hours.'),
          gpuHours: z.number().describe('GPUs and GPU shares held, times hours.'),
          cpuIdle: idle('CPU time'),
          gpuIdle: idle('GPU time'),
          memIdle: idle('memory'),
          gpuWastedHours: z
            .number()
            .nullable()
            .describe('GPU-hours that were held and not used, of those with figures; null without figures.'),
        }),
      )
      .describe('One page; without `limit` at most 5,000 rows.'),
    nextCursor: z.string().nullable(),
    total: z.int().describe('Number of all users, projects and so on that match.'),
    sums: z
      .object({
        cpuHours: z.number(),
        memGibHours: z.number(),
        gpuHours: z.number(),
        gpuMeasuredHours: z.number().describe('GPU-hours that have figures of use.'),
        gpuWastedHours: z.number().nullable().describe('Of those with figures; null without.'),
      })
      .describe('Of all rows that match.'),
  })
  .meta({ id: 'UsageReport' })
export type UsageReport = z.infer<typeof UsageReport>

/** The first rows in every dimension, for a report of a month. */
export const UsageReports = UsageReport.pick({ from: true, to: true })
  .extend({
    items: z.array(UsageReport.pick({ items: true, total: true, sums: true }).extend({ by: z.enum(USAGE_DIMENSIONS) })),
  })
  .meta({ id: 'UsageReports' })
export type UsageReports = z.infer<typeof UsageReports>

export const FINDING_KINDS = [
  'container_gone', // the row says that the session runs, but there is no container
  'not_told', // the container has started or ended, but no report said so
  'unknown_container', // a container without a row: adopted
  'orphan_container', // a container whose session ended or runs elsewhere: removed
  'kernel_of_ended_session', // a row held resources for a session that had ended
  'other_amounts', // a row held other amounts or devices than its container has
] as const

/** A difference between rows and containers, already corrected. */
export const Finding = z.object({
  kind: z.enum(FINDING_KINDS),
  message: z.string(),
  ...CauseFields,
  agentId: AgentId.nullable(),
  sessionId: SessionId,
  kernelId: KernelId,
})
export type Finding = z.infer<typeof Finding>

/** Result of a comparison of rows with containers. Empty `findings` and no `correctedDays`: everything agrees. */
export const Recalculation = z
  .object({
    findings: z.array(Finding),
    agents: z.array(
      z.object({
        agentId: AgentId,
        name: z.string(),
        compared: z.boolean(),
        why: z.string().nullable().describe('Reason why the agent was not compared and not changed.'),
        whyBy: TextKeys.optional(),
        containers: z.int(),
      }),
    ),
    correctedDays: z.int().describe('Days whose sums of usage differed from the sessions and were corrected.'),
  })
  .meta({ id: 'Recalculation' })
export type Recalculation = z.infer<typeof Recalculation>
