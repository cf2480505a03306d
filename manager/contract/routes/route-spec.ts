import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'

/**
 * Access to a route as a whole: anybody, any signed-in user, admins of a domain (and superadmins), superadmins only, or only the console's
 * own process, which proves the secret that it shares with the manager. Rules on single objects are in services.
 */
export type Access = 'none' | 'user' | 'domain_admin' | 'superadmin' | 'console'

export interface RouteSpec {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Fastify syntax: `/api/v1/sessions/:id`. */
  readonly path: string
  readonly access: Access
  /**
   * The route gives access to an account, or decides who has an account, so a person must call it: signed requests, and sign-ins made with
   * a keypair, are refused. If that depends on the body, the services refuse them (`requirePerson`).
   */
  readonly byPerson?: true
  readonly summary: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** Content type of a body that the handler reads from `request.body` as a stream: its size and duration are not limited. */
  readonly streamedBody?: string
  /** Largest number of members, objects and lists in a body; default: `manager/http/json-parts.ts`. */
  readonly jsonParts?: number
  /** Success status, 200 if left out. */
  readonly status?: 200 | 201 | 202 | 204
  /**
   * The route accepts the header `Idempotency-Key`. The route creates something, and a client that has lost the answer may send the request
   * again. Only for routes that need a sign-in.
   */
  readonly idempotencyKey?: true
  /** z.void() for 204; a z.string() is sent as text/plain. */
  readonly reply: z.ZodType
}

export const Page = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: TextUpTo(200).optional(),
})
/** Paging parameters of a list that clients also need as a whole, such as the choices of a form. */
export const OptionalPage = z.object({
  limit: z.coerce.number().int().min(1).max(500).optional().describe('Number of items; left out: the whole list.'),
  cursor: Page.shape.cursor,
})
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() })
