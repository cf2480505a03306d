import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'

/**
 * Access to a route as a whole: anybody, any signed-in user, admins of a domain (and superadmins), superadmins only, or no person
 * but the console's own process, which proves the secret that it shares with the manager. Rules on single objects are in services.
 */
export type Access = 'none' | 'user' | 'domain_admin' | 'superadmin' | 'console'

export interface RouteSpec {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Fastify syntax: `/api/v1/sessions/:id`. */
  readonly path: string
  readonly access: Access
  /**
   * Gives somebody a way into an account, or decides who has one. So a person does it: a signed request, and a sign-in that was made with
   * a keypair, are refused. Where that depends on the body, the services refuse them (`requirePerson`).
   */
  readonly byPerson?: true
  readonly summary: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** Content type of a body that the handler reads from `request.body` as a stream: no limit of its size or duration. */
  readonly streamedBody?: string
  /** Members, objects and lists that a body may have; left out: as many as usual (`manager/http/json-parts.ts`). */
  readonly jsonParts?: number
  /** Success status, 200 if left out. */
  readonly status?: 200 | 201 | 202 | 204
  /**
   * The route accepts the header `Idempotency-Key`. It creates something, so a client that has lost the answer may send the
   * request again. Only for routes that need a sign-in.
   */
  readonly idempotencyKey?: true
  /** z.void() for 204; z.string() is sent as text/plain. */
  readonly reply: z.ZodType
}

export const Page = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: TextUpTo(200).optional(),
})
/** Pages of a list that clients also need whole, such as the choices of a form. */
export const OptionalPage = z.object({
  limit: z.coerce.number().int().min(1).max(500).optional().describe('Number of items; left out: the whole list.'),
  cursor: Page.shape.cursor,
})
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() })
