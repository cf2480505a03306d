import { SCIM_PATH } from './routes/scim.ts'
import { type FastifyInstance, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defined } from '#base/defined'
import { type Role, type RouteName, TOOL_HEADER, User } from '#manager/contract'
import { adoptedBy } from './adopted.ts'
import { clientAddress } from './origin.ts'
import { type Log } from '../log.ts'
import { findAccount, findOwner } from '../store/operation/audit-log.ts'
import { type Db } from '../store/schema.ts'
import { describeRequest, inEntries } from '../audit/describe.ts'
import { type AuditRecorder } from '../audit/recorder.ts'
import { tokenInLog, tokenOf } from '../users/authorize.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** For the audit log: the return value of the handler, and the error with which the request ended. */
    outcome: {
      reply?: unknown
      code?: string
      replayed?: boolean
      /** The tool of the Model Context Protocol that a refused call names. */
      tool?: string
      /** Added to the detail of the entry if the request succeeded. */
      told?: Readonly<Record<string, string | number>>
      owner?: { email: string; role: Role; domain: string }
      /** Domain of the caller's own target, which may be an earlier domain of the caller. */
      ownIn?: string
    } | null
  }
  interface FastifyContextConfig {
    /** Name in the table of routes. */
    route?: RouteName
  }
}

/**
 * Requests that are not recorded: `whatIf` and `listEndedLinks` change nothing, `renewGrant`, `grantServedApp`, `grantOwnApp` and `redeemAppTicket` use a right
 * that a recorded request gave, `continueUpload` continues an upload whose beginning was recorded, `readBundle` and `readChecksums` read
 * files, `recordVisit` only reports that the console is open, and `reportCertificate` and `reportAppPorts` report public facts about the
 * console.
 */
const UNTOLD: ReadonlySet<string> = new Set<RouteName>([
  'whatIf',
  'renewGrant',
  'grantServedApp',
  'listEndedLinks',
  'grantOwnApp',
  'redeemAppTicket',
  'reportCertificate',
  'reportAppPorts',
  'continueUpload',
  'readBundle',
  'readChecksums',
  'recordVisit',
])
const READING = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Writes one audit row for every request that changes something or tried to, whatever its result. The row is written before the answer is
 * sent, so that a client finds its success in the log. Requests to unknown addresses are not recorded.
 */
export function recordRequests(app: FastifyInstance, deps: { audit: AuditRecorder; db: Db; log: Log }): void {
  const { audit, db, log } = deps
  app.decorateRequest('outcome', null)

  app.addHook('preHandler', async request => {
    const { credentials } = request
    // Find the owner now, because a deleted target will have none. Plain users act on things of their own, and on shared sessions.
    if (!isTold(request) || !credentials) return
    const { target } = describe(request, false)
    if (credentials.caller.role === 'user' && !target?.startsWith('session:')) return
    const owner = target === null ? undefined : await findOwner(db, target)
    if (!owner) return
    if (owner.id !== credentials.caller.userId) request.outcome = { ...request.outcome, owner }
    else request.outcome = { ...request.outcome, ownIn: owner.domain }
  })

  app.addHook('onSend', async request => {
    // Nothing was done: the client got the answer of an earlier request again.
    if (!isTold(request) || request.outcome?.replayed) return
    try {
      await record(request)
    } catch (error) {
      // A lookup for the log failed in the database; the answer to the client does not fail because of that.
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
    // A user who signs in is known only now. A failed attempt is recorded for the account, never with the typed text.
    const signedIn = caller ?? (ok ? userOf(outcome?.reply) : undefined)
    const tried = signedIn ? undefined : await accountOf(request)
    const concerned = outcome?.owner ?? signedIn ?? tried
    const row = {
      actor_id: signedIn ? signedIn.userId : null,
      actor: signedIn?.email ?? null,
      ...(caller && tokenInLog(caller)),
      domain: concerned ? domainOf({ role: concerned.role, domain: outcome?.ownIn ?? concerned.domain }) : null,
      acted_as: outcome?.owner?.email ?? madeFor(outcome?.reply, caller?.userId) ?? null,
      action: request.routeOptions.config.route ?? `${request.method} ${request.routeOptions.url ?? ''}`,
      target: target ?? (tried ? `user:${tried.id}` : null),
      result,
      address: clientAddress(request.raw),
    }
    const full = {
      ...detail,
      ...(caller?.keypair && { keypair: caller.keypair }),
      ...defined({ tool: outcome?.tool ?? toolOf(request), road: adoptedBy(request.raw)?.road }),
    }
    await Promise.all(inEntries(full).map(part => audit.record({ ...row, detail: part })))
  }

  async function accountOf(request: FastifyRequest) {
    if (request.routeOptions.config.streamedBody !== undefined) return undefined
    const { email } = (request.body ?? {}) as { email?: unknown }
    return typeof email === 'string' && email.length <= 254 ? findAccount(db, email.replaceAll('\0', '')) : undefined
  }
}

function isTold(request: FastifyRequest): boolean {
  const { method, is404, routeOptions } = request
  // Changes by SCIM are recorded with what they changed (`manager/scim/`).
  if (is404 || routeOptions.url?.startsWith(SCIM_PATH)) return false
  // A tool that was called is in the entries of its requests to the API.
  if (routeOptions.url === '/mcp') return method === 'POST' && request.outcome?.code !== undefined
  return toolOf(request) !== undefined || (!READING.has(method) && !UNTOLD.has(routeOptions.config.route ?? ''))
}

/** The tool that a program with an access token says the request is for. */
function toolOf({ headers, credentials }: FastifyRequest): string | undefined {
  const tool = headers[TOOL_HEADER]
  if (!credentials || tokenOf(credentials.caller) === null) return undefined
  return typeof tool === 'string' && /^[a-z_]{1,40}$/.test(tool) ? tool : undefined
}

function describe(request: FastifyRequest, ok: boolean) {
  const { params, body, outcome, credentials, routeOptions } = request
  return describeRequest({
    path: routeOptions.url ?? '',
    params,
    // A body that the route reads as a stream has no fields, only properties of the stream.
    body: routeOptions.config.streamedBody === undefined ? body : undefined,
    reply: outcome?.reply,
    ok,
    callerId: credentials?.caller.userId,
  })
}

/** The user in a reply that signs somebody in. */
function userOf(reply: unknown) {
  const parsed = z.object({ user: User }).safeParse(reply)
  if (!parsed.success) return undefined
  const { id: userId, email, domain, role } = parsed.data.user
  return { userId, email, domain, role }
}

/** Actions of superadmins, and actions on their things, are hidden from the admins of their domain. */
function domainOf({ role, domain }: { role: Role; domain: string }): string | null {
  return role === 'superadmin' ? null : domain
}

/** E-mail address of the user for whom an admin created something: the reply for a keypair names its owner. */
function madeFor(reply: unknown, callerId: string | undefined): string | undefined {
  const { userId, email } = (reply ?? {}) as { userId?: unknown; email?: unknown }
  return typeof userId === 'string' && userId !== callerId && typeof email === 'string' ? email : undefined
}
