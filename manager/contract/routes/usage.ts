import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { GroupId, UserId } from '../ids.ts'
import { LimitUse, LimitUseQuery, LimitUser } from '../quotas/limit-use.ts'
import {
  Recalculation,
  ScopeUsage,
  UsageHistory,
  UsageHistoryQuery,
  UsageReport,
  UsageReportQuery,
  UsageReports,
} from '../quotas/usage.ts'
import { OptionalPage, Page, pageOf, type RouteSpec } from './route-spec.ts'

/** Limits, and the amounts held under them. */
export const USAGE_ROUTES = {
  getUsage: {
    method: 'GET',
    path: '/api/v1/usage',
    access: 'user',
    summary:
      "Limits, usage and the rest, of the caller and the caller's keypairs, groups and domain. Admins may ask for other users.",
    query: z
      .object({
        userId: UserId.optional().describe('For admins.'),
        groupId: GroupId.optional().describe('For admins: that group only.'),
        domain: TextUpTo(64).optional().describe('For admins: that domain and its groups.'),
      })
      .refine(query => Object.values(query).filter(Boolean).length <= 1, 'name a user, a group or a domain'),
    reply: z.object({ items: z.array(ScopeUsage) }),
  },
  getUsageHistory: {
    method: 'GET',
    path: '/api/v1/usage/history',
    access: 'user',
    summary:
      'Resource use of sessions by hour, day or week: your own sessions, those of one of your groups, or (for admins) all.',
    query: UsageHistoryQuery,
    reply: UsageHistory,
  },
  getUsageReport: {
    method: 'GET',
    path: '/api/v1/usage/report',
    access: 'domain_admin',
    summary:
      'Resource use of sessions in a period, by user, project, domain, image or agent. An admin of a domain sees its sessions.',
    query: OptionalPage.extend(UsageReportQuery.shape),
    reply: UsageReport,
  },
  listUsageReports: {
    method: 'GET',
    path: '/api/v1/usage/reports',
    access: 'domain_admin',
    summary: 'The first rows of the report by each of its dimensions, those with the most GPU-hours.',
    query: UsageReportQuery.pick({ from: true, to: true }).extend({ limit: Page.shape.limit }),
    reply: UsageReports,
  },
  getLimitUse: {
    method: 'GET',
    path: '/api/v1/usage/limits',
    access: 'domain_admin',
    summary:
      'Who uses how much of the limits of a resource policy, a project or a domain: the largest part of any limit first. An admin of a domain sees its users.',
    query: Page.extend(LimitUseQuery.shape),
    reply: pageOf(LimitUser).extend(LimitUse.shape),
  },
  recalculateUsage: {
    method: 'POST',
    path: '/api/v1/usage/recalculate',
    access: 'superadmin',
    summary:
      'Compare the records in the database with the containers on every connected agent, and correct the differences.',
    reply: Recalculation,
  },
} as const satisfies Record<string, RouteSpec>
