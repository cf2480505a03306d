import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { GroupId } from '../ids.ts'
import { ScopeUsage } from './usage.ts'

/** The holder of the limits: exactly one of these. */
export const LimitUseQuery = z.object({
  policy: TextUpTo(64).optional().describe('A resource policy: its users and keypairs, each with the limits alone.'),
  groupId: GroupId.optional().describe('A project: its users, who share the limits.'),
  domain: TextUpTo(64).optional().describe('A domain: its users, who share the limits.'),
})

/** The holder that the query names. */
export type LimitHolder = { readonly policy: string } | { readonly groupId: GroupId } | { readonly domain: string }

/** Amounts that one user or keypair holds against the limits. */
export const LimitUser = ScopeUsage.pick({ id: true, name: true, held: true, sessions: true })
  .extend({ kind: z.enum(['user', 'keypair']) })
  .meta({ id: 'LimitUser' })
export type LimitUser = z.infer<typeof LimitUser>

/** Limits, and the amounts that count towards them. */
export const LimitUse = ScopeUsage.pick({ limits: true, maxSessions: true }).extend({
  shared: ScopeUsage.pick({ held: true, sessions: true })
    .nullable()
    .describe('What all users hold together, where they share the limits; null for a resource policy.'),
  total: z.int().describe('Number of users and keypairs that hold something.'),
})
export type LimitUse = z.infer<typeof LimitUse>
