import { z } from 'zod'
import { AgentId, SessionId } from '../ids.ts'
import { TrimmedLines } from '../plain-text.ts'
import { ACCOUNT_NEWS_KINDS } from './account-news.ts'

/** Largest number of sessions that one message may name. */
export const MOST_MESSAGE_SESSIONS = 1_000
/** Longest text of a message, in characters. */
export const LONGEST_MESSAGE = 500

/** Text of an administrator for the owners of sessions. Plain: nothing in it is a link or markup. */
export const MessageText = TrimmedLines(LONGEST_MESSAGE).min(1)

export const MessageSpec = z
  .strictObject({
    text: MessageText,
    sessionIds: z
      .array(SessionId)
      .min(1)
      .max(MOST_MESSAGE_SESSIONS)
      .optional()
      .describe('The sessions that it is about.'),
    agentId: AgentId.optional().describe('Instead: all live sessions on this agent.'),
  })
  .refine(({ sessionIds, agentId }) => (sessionIds === undefined) !== (agentId === undefined), {
    path: ['sessionIds'],
    message: 'name sessions or an agent, not both',
  })
  .meta({ id: 'MessageSpec' })
export type MessageSpec = z.infer<typeof MessageSpec>

/** A message to the caller. Kept for 30 days, or until the caller clears it; one about the account stays for 30 days in any case. */
export const Message = z
  .object({
    id: z.uuid(),
    at: z.iso.datetime(),
    from: z.string().describe('E-mail address of the administrator, or Berth.'),
    text: z.string(),
    sessions: z
      .array(z.object({ id: SessionId, name: z.string() }))
      .describe('Sessions of the caller that it is about.'),
    about: z
      .enum([
        'backup_failed',
        'certificate',
        'gpu_fault',
        'host_fault',
        'host_well',
        'host_update',
        'webhook_failing',
        'webhook_off',
        'webhook_owner',
        ...ACCOUNT_NEWS_KINDS,
      ])
      .nullable()
      .describe(
        'What Berth itself tells: superadmins of faults, everybody of what others did about the account. Null: words of a person.',
      ),
    detail: z
      .string()
      .describe(
        'Name of what `about` is about, such as an access key, a role or a host; may be empty. A last line `+N` counts the names that are left out.',
      ),
  })
  .meta({ id: 'Message' })
export type Message = z.infer<typeof Message>
