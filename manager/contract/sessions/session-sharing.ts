import { z } from 'zod'
import { UserId } from '../ids.ts'
import { Email } from '../identity/users.ts'

/** Largest number of members with whom one session is shared. */
export const MOST_SESSION_SHARES = 50
/** Largest number of live sessions that one person shares with the same member: all of them are in the member's lists. */
export const MOST_SHARED_WITH_ONE = 200

/**
 * View: see the session in lists, its details, timeline, figures and log. Use: also its apps, terminals, SSH and files. `use` includes
 * `view`.
 */
export const SessionPermission = z.enum(['view', 'use'])
export type SessionPermission = z.infer<typeof SessionPermission>

/** A member of the session's project who may view or use it. */
export const SessionShare = z
  .object({
    userId: UserId,
    email: z.string(),
    name: z.string(),
    permission: SessionPermission,
    sharedAt: z.iso.datetime(),
  })
  .meta({ id: 'SessionShare' })
export type SessionShare = z.infer<typeof SessionShare>

export const SessionShareSpec = z
  .strictObject({
    email: Email.describe('Address of a member of the session’s project.'),
    permission: SessionPermission.default('view').describe('view if left out.'),
  })
  .meta({ id: 'SessionShareSpec' })
export type SessionShareSpec = z.infer<typeof SessionShareSpec>
