import { z } from 'zod'
import { IdleGpuQuery, IdleOwner, IdleTotals, Overview } from '../quotas/overview.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** The administrators' overview. */
export const OVERVIEW_ROUTES = {
  getOverview: {
    method: 'GET',
    path: '/api/v1/overview',
    access: 'domain_admin',
    summary:
      'Who waits, what failed, which agents need a hand and which GPUs do nothing. An admin of a domain sees its sessions.',
    query: z.object({
      setUp: z
        .stringbool()
        .optional()
        .describe('Also what is set up once, which takes a look at the directory of backups.'),
    }),
    reply: Overview,
  },
  listIdleGpus: {
    method: 'GET',
    path: '/api/v1/usage/idle',
    access: 'domain_admin',
    summary:
      'Running sessions whose GPUs do nothing, by owner, the most GPU-hours first. An admin of a domain sees its sessions.',
    query: Page.extend(IdleGpuQuery.shape),
    reply: pageOf(IdleOwner).extend(IdleTotals.shape),
  },
} as const satisfies Record<string, RouteSpec>
