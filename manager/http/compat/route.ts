import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type ApiClient } from '#manager/contract'
import { type OwnCalls, type Sender } from './own-calls.ts'

/** Request of a client that was admitted. */
export interface CompatContext {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly sender: Sender
  /** Id of the person who sends it; empty for a route that needs no credentials. */
  readonly userId: string
  readonly calls: OwnCalls
  /** The API, as the sender. */
  readonly api: ApiClient
  /** The same for what has to be done even though the client has left. */
  readonly lasting: () => ApiClient
  readonly params: Readonly<Record<string, string>>
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Milliseconds since 1970, by the clock of the database. */
  readonly now: () => number
  /** Lifts the deadline of the body: for uploads, which may take hours. */
  readonly liftDeadline: () => void
}

/** An address of the original system that Berth answers. */
export interface CompatRoute {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Fastify syntax, as clients that sign ask for it; below `/func` the same for those that have signed in. */
  readonly path: string
  /** Needs no credentials, or has its own in the query. */
  readonly open?: true
  /** The answer as JSON; undefined after the reply was sent or for 204. */
  handle(context: CompatContext): Promise<unknown>
}
