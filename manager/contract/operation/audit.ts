import { z } from 'zod'
import { UserId } from '../ids.ts'
import { DateTime, PlainText } from '../plain-text.ts'
import { sortBy } from '../sort.ts'

/** An entry records an action that somebody took or was refused. Entries never change, and are kept for `auditDays`. */
export const AuditEntry = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    actorId: UserId.nullable().describe('Null for the system, and for callers that are not signed in.'),
    actor: z.string().nullable().describe('E-mail address at that time.'),
    token: z.string().nullable().describe('Name of the access token of the request at that time; null: it had none.'),
    tokenId: z.uuid().nullable().describe('Id of that token, which may have ended.'),
    actedAs: z
      .string()
      .nullable()
      .describe(
        'Owner of the target, if somebody else acted on it: an admin, or a member with whom a session is shared.',
      ),
    domain: z
      .string()
      .nullable()
      .describe("The domain whose admins see the row: the domain of the target's owner, or of the actor."),
    action: z.string().describe('Name of the route, or of the action of the system.'),
    target: z.string().nullable().describe('Kind and id, e.g. `session:0198…`.'),
    targetName: z
      .string()
      .nullable()
      .describe(
        'Present name of a user, session, folder, group or agent; null if it is gone, or not in the domain of the reader.',
      ),
    result: z.string().describe('`ok`, or the code of the error.'),
    detail: z
      .record(z.string(), z.unknown())
      .describe(
        'Ids, flags and numbers; never secrets or free text. Of changes of files the path of the first one, in folders of people only for the person and superadmins. `repeats`: the number of equal requests after this one.',
      ),
    address: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof AuditEntry>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The present name of a target, else its id: without its kind where the id is a name. Null without a target, and for a sign-in, whose id
 * says nothing to people.
 */
export function auditTarget({ target, targetName }: Pick<AuditEntry, 'target' | 'targetName'>): string | null {
  if (targetName !== null) return targetName
  if (target === null || target.startsWith('login:')) return null
  const id = target.slice(target.indexOf(':') + 1)
  return UUID.test(id) ? target : id
}

/** The account that somebody tried to use without being signed in. */
export const triedBy = ({ actor, address, target, targetName }: AuditEntry): string | null =>
  actor === null && address !== null && target?.startsWith('user:') === true ? targetName : null

const When = DateTime({ offset: true })

export const AuditFilter = z.object({
  actor: PlainText(254).optional().describe('E-mail address or id of a user.'),
  action: PlainText(64).optional(),
  target: PlainText(300).optional().describe('`session:0198…`, or `session:` for all of a kind.'),
  from: When.optional(),
  to: When.optional().describe('Exclusive.'),
})
export type AuditFilter = z.infer<typeof AuditFilter>

/** Order of a list of entries: by time; with `-`, descending. */
export const AuditSort = sortBy(['at'])
export type AuditSort = z.infer<typeof AuditSort>

export const AUDIT_FORMATS = ['jsonl', 'csv'] as const
