import { type FastifyInstance, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Role, type RouteName, User } from '#manager/contract'
import { clientAddress } from './origin.ts'
import { type Log } from '../log.ts'
import { findAccount, findOwner } from '../store/operation/audit-log.ts'
import { type Db } from '../store/schema.ts'
import { describeRequest } from '../audit/describe.ts'
import { type AuditRecorder } from '../audit/recorder.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** For the audit log: what the handler returned, and with which error the request ended. */
    outcome: {
      reply?: unknown
      code?: string
      replayed?: boolean
      /** Goes into the detail of a request that succeeded. */
      told?: Readonly<Record<string, string | number>>
      owner?: { email: string; role: Role; domain: string }
    } | null
  }
  interface FastifyContextConfig {
    /** Name in the table of routes. */
    route?: RouteName
  }
}

/** These POSTs change nothing that was not decided by an earlier one. */
const UNTOLD: ReadonlySet<string> = new Set<RouteName>(['whatIf', 'renewGrant'])
const READING = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * One row for every request that changes something or would have, whatever came of it. It is written before the answer is
 * sent: who is told that a change succeeded finds it in the log. Requests to addresses that do not exist are none.
 */
export function recordRequests(app: FastifyInstance, deps: { audit: AuditRecorder; db: Db; log: Log }): void {
  const { audit, db, log } = deps
  app.decorateRequest('outcome', null)

  app.addHook('preHandler', async request => {
    const { credentials } = request
    // Whose it is can be asked only while it is there. Plain users act on nothing but what is theirs.
    if (!isTold(request) || !credentials || credentials.caller.role === 'user') return
    const { target } = describe(request, false)
    const owner = target === null ? undefined : await findOwner(db, target)
    if (owner && owner.id !== credentials.caller.userId) request.outcome = { ...request.outcome, owner }
  })

  app.addHook('onSend', async request => {
    // Nothing was done: the answer of an earlier request was given again.
    if (!isTold(request) || request.outcome?.replayed) return
    try {
      await record(request)
    } catch (error) {
      // The database does not answer a question on the side; the answer does not fail for it.
      log.error({ err: error, action: request.routeOptions.config.route }, 'a request was not recorded in full')
    }
  })

  async function record(request: FastifyRequest): Promise<void> {
    const { outcome, credentials } = request
    const result = outcome?.code ?? 'ok'
    const ok = result === 'ok'
    const { target, detail: described } = describe(request, ok)
    const detail = { ...described, ...(ok ? outcome?.told : {}) }
    const caller = credentials?.caller
    // Whoever signs in is known only now; whoever tries is named by the account, never by what was typed.
    const signedIn = caller ?? (ok ? userOf(outcome?.reply) : undefined)
    const tried = signedIn ? undefined : await accountOf(request)
    const concerned = outcome?.owner ?? signedIn ?? tried
    await audit.record({
      actor_id: signedIn ? signedIn.userId : null,
      actor: signedIn?.email ?? null,
      domain: concerned ? domainOf(concerned) : null,
      acted_as: outcome?.owner?.email ?? madeFor(outcome?.reply, caller?.userId) ?? null,
      action: request.routeOptions.config.route ?? `${request.method} ${request.routeOptions.url ?? ''}`,
      target: target ?? (tried ? `user:${tried.id}` : null),
      result,
      detail: caller?.keypair ? { ...detail, keypair: caller.keypair } : detail,
      address: clientAddress(request.raw),
    })
  }

  async function accountOf(request: FastifyRequest) {
    const { email } = (request.body ?? {}) as { email?: unknown }
    return typeof email === 'string' && email.length <= 254 ? findAccount(db, email.replaceAll('\0', '')) : undefined
  }
}

function isTold({ method, is404, routeOptions }: FastifyRequest): boolean {
  return !READING.has(method) && !is404 && !UNTOLD.has(routeOptions.config.route ?? '')
}

function describe(request: FastifyRequest, ok: boolean) {
  const { params, body, outcome, credentials, routeOptions } = request
  return describeRequest({
    path: routeOptions.url ?? '',
    params,
    body,
    reply: outcome?.reply,
    ok,
    callerId: credentials?.caller.userId,
  })
}

/** The user of a reply that signs somebody in. */
function userOf(reply: unknown) {
  const parsed = z.object({ user: User }).safeParse(reply)
  if (!parsed.success) return undefined
  const { id: userId, email, domain, role } = parsed.data.user
  return { userId, email, domain, role }
}

/** What superadmins do, and what is done to theirs, is not told to the admins of the domain that they happen to be in. */
function domainOf({ role, domain }: { role: Role; domain: string }): string | null {
  return role === 'superadmin' ? null : domain
}

/** An admin may make things for others: a keypair says whose it is. */
function madeFor(reply: unknown, callerId: string | undefined): string | undefined {
  const { userId, email } = (reply ?? {}) as { userId?: unknown; email?: unknown }
  return typeof userId === 'string' && userId !== callerId && typeof email === 'string' ? email : undefined
}
