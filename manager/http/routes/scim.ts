import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isAppError } from '#manager/contract'
import { MOST_RESULTS, resourceTypes, schemas, serviceProviderConfig } from '../../scim/discovery.ts'
import { parseFilter } from '../../scim/filter.ts'
import { type ScimGroups } from '../../scim/groups.ts'
import { type Wanted } from '../../scim/list.ts'
import { type Doc } from '../../scim/patch.ts'
import { notFound, ScimError, tokenEnded } from '../../scim/scim-error.ts'
import { type ScimClient, type ScimTokens } from '../../scim/tokens.ts'
import { type ScimUsers } from '../../scim/users.ts'
import { type Log } from '../../log.ts'

export interface ScimEndpoint {
  readonly tokens: Pick<ScimTokens, 'authenticate'>
  readonly users: ScimUsers
  readonly groups: ScimGroups
  /** Base URL of SCIM as clients reach it. */
  readonly baseUrl: (request: FastifyRequest) => Promise<string>
  readonly log: Pick<Log, 'error'>
}

export const SCIM_PATH = '/scim/v2'
const TYPE = 'application/scim+json; charset=utf-8'
/** A group of ten thousand members has two parts for each. */
const JSON_PARTS = 40_000

/**
 * SCIM 2.0 (RFC 7643 and 7644) at `/scim/v2`, for identity providers such as Okta and Entra ID.
 *
 * Threat model: that of `server.ts`: Host and Origin are checked before this runs, and bodies are small. It takes tokens of SCIM only, read
 * at each request, before the body and again after a body that came later, from the Authorization header: sign-ins, cookies and keypairs are nothing here, so that no page of a browser can call it.
 * Bodies of clients reach accounts only through the rules of `manager/scim/`. Tokens and bodies are never logged.
 */
export function registerScimRoutes(app: FastifyInstance, endpoint: ScimEndpoint): void {
  const { tokens, users, groups, baseUrl, log } = endpoint
  const config = { access: 'none', jsonParts: JSON_PARTS } as const
  const schema = { hide: true }

  const clients = new WeakMap<FastifyRequest, ScimClient>()
  const lateBodies = new WeakSet<FastifyRequest>()
  type Answer = readonly [status: number, body?: Doc]
  type Work = (client: ScimClient, request: FastifyRequest) => Promise<Answer>

  const route = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, work: Work) =>
    app.route({
      method,
      url: SCIM_PATH + path,
      config,
      schema,
      // Before the body is read: strangers send none.
      onRequest: async (request, reply) => {
        try {
          clients.set(request, await clientOf(request))
          if (!request.raw.complete) lateBodies.add(request)
        } catch (error) {
          return refuse(reply, error)
        }
      },
      handler: async (request, reply) => {
        try {
          const client = lateBodies.has(request) ? await clientOf(request) : clients.get(request)
          if (!client) throw new Error('a request of SCIM without a client')
          const [status, body] = await work(client, request)
          return await send(reply, status, body && (await located(request, body)))
        } catch (error) {
          return await refuse(reply, error)
        }
      },
    })

  async function clientOf({ headers }: FastifyRequest): Promise<ScimClient> {
    const token = /^bearer +([\w.~+/=-]{1,200})$/i.exec(headers.authorization ?? '')?.[1]
    const client = token === undefined ? undefined : await tokens.authenticate(token)
    if (client) return client
    throw tokenEnded()
  }

  /** Adds the address of each resource. */
  async function located(request: FastifyRequest, body: Doc): Promise<Doc> {
    const base = await baseUrl(request)
    const one = (doc: Doc): Doc => {
      const meta = doc.meta as { resourceType?: string; location?: string } | undefined
      if (!meta || meta.location !== undefined) return doc
      return { ...doc, meta: { ...meta, location: `${base}/${meta.resourceType ?? ''}s/${String(doc.id)}` } }
    }
    return Array.isArray(body.Resources) ? { ...body, Resources: (body.Resources as Doc[]).map(one) } : one(body)
  }

  function send(reply: FastifyReply, status: number, body: Doc | undefined): FastifyReply {
    void reply.code(status).header('content-type', TYPE).header('cache-control', 'no-store')
    const location = (body?.meta as { location?: string } | undefined)?.location
    if (location !== undefined) void reply.header('location', location)
    return reply.serializer((text: string) => text).send(body === undefined ? '' : JSON.stringify(body))
  }

  function refuse(reply: FastifyReply, error: unknown): FastifyReply {
    const known = error instanceof ScimError ? error : ofAppError(error)
    if (known.status >= 500) log.error({ err: error }, 'a request of SCIM failed')
    if (known.status === 401) void reply.header('www-authenticate', 'Bearer realm="SCIM"')
    return send(reply, known.status, known.toJSON())
  }

  const kinds: readonly (readonly [path: string, kind: Kind])[] = [
    ['/Users', users],
    ['/Groups', groups],
  ]
  for (const [path, kind] of kinds) {
    const list: Work = async (client, request) => {
      const filter = textOf(request, 'filter')
      const parsed = filter === undefined ? undefined : parseFilter(filter)
      const page = pageOf(request)
      const wanted = { ...page, withMembers: !excludes(request, 'members') }
      const { total, resources } = await kind.list(client, parsed, wanted)
      return [200, listOf(resources, total, page.offset + 1)]
    }
    route('GET', path, list)
    route('POST', path, async (client, request) => [201, await kind.create(client, request.body)])
    route('GET', `${path}/:id`, async (client, request) => [
      200,
      await kind.get(client, idOf(request), !excludes(request, 'members')),
    ])
    route('PUT', `${path}/:id`, async (client, request) => [
      200,
      await kind.replace(client, idOf(request), request.body),
    ])
    route('PATCH', `${path}/:id`, async (client, request) => [
      200,
      await kind.patch(client, idOf(request), request.body),
    ])
    route('DELETE', `${path}/:id`, async (client, request) => {
      await kind.remove(client, idOf(request))
      return [204]
    })
  }
  route('GET', '/ServiceProviderConfig', async (_, request) => [200, serviceProviderConfig(await baseUrl(request))])
  const fixed = (path: string, all: (base: string) => Doc[]) => {
    route('GET', path, async (_, request) => [200, listOf(all(await baseUrl(request)))])
    route('GET', `${path}/:id`, async (_, request) => {
      const found = all(await baseUrl(request)).find(({ id }) => id === idOf(request))
      if (!found) throw notFound('resource')
      return [200, found]
    })
  }
  fixed('/ResourceTypes', resourceTypes)
  fixed('/Schemas', schemas)
}

/** Users and groups; only groups have members. */
type Kind = Pick<ScimGroups, 'list' | 'get' | 'create' | 'replace' | 'patch' | 'remove'>

const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id

function textOf({ query }: FastifyRequest, name: string): string | undefined {
  const given = Object.entries((query ?? {}) as Record<string, unknown>).find(
    ([key]) => key.toLowerCase() === name,
  )?.[1]
  if (given === undefined) return undefined
  if (typeof given !== 'string' || given.length > 2_000)
    throw new ScimError(400, `${name} is not valid.`, 'invalidValue')
  return given
}

const excludes = (request: FastifyRequest, attribute: string) =>
  textOf(request, 'excludedattributes')
    ?.split(',')
    .some(name => name.trim().toLowerCase() === attribute) ?? false

/** RFC 7644, section 3.4.2.4: pages by index, from 1. A count below 0 counts as 0, and an index below 1 as 1. */
function pageOf(request: FastifyRequest): Pick<Wanted, 'offset' | 'limit'> {
  const numberOf = (name: string, otherwise: number) => {
    const said = textOf(request, name)
    if (said === undefined) return otherwise
    if (!/^-?\d{1,9}$/.test(said)) throw new ScimError(400, `${name} must be a number.`, 'invalidValue')
    return Number(said)
  }
  const limit = Math.min(MOST_RESULTS, Math.max(0, numberOf('count', MOST_RESULTS)))
  return { offset: Math.max(1, numberOf('startindex', 1)) - 1, limit }
}

const listOf = (resources: readonly Doc[], totalResults = resources.length, startIndex = 1): Doc => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})

function ofAppError(error: unknown): ScimError {
  if (!isAppError(error)) return new ScimError(500, 'Unexpected failure. The log of the manager has the cause.')
  const why = typeof error.detail.why === 'string' ? error.detail.why : error.message
  const { code } = error
  if (code === 'group_not_found') return notFound('group')
  if (code === 'user_not_found') return notFound('user')
  if (code === 'bad_request' || code === 'domain_not_found') return new ScimError(400, why, 'invalidValue')
  return new ScimError(500, 'Unexpected failure. The log of the manager has the cause.')
}
