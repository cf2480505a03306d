import { Agent } from 'node:http'
import { startDatabase } from '../fixtures/postgres.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { Victim } from '../integration/hostile/victim.ts'
import { assertDocumented, send, spoiled } from './http.ts'
import { type Random } from './random.ts'
import { type Schema, valueOf } from './shapes.ts'
import { type FuzzTarget } from './target.ts'

interface Operation {
  readonly method: string
  readonly path: string
  readonly operationId?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: Schema }[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'method' | 'path'>>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

/** Streams do not end, and after the end of a sign-in all answers of the run would be 401. */
const LEFT_OUT = /events$|logout|login/i
const MOST_IDS = 300
const MORE_DESCRIPTORS = 120
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Every operation of the manager's OpenAPI document, anonymously and as each role, with ids that earlier answers named. */
export const apiTarget: FuzzTarget = {
  name: 'api',
  atOnce: 8,
  weight: 1,
  async start() {
    const stack = new AsyncDisposableStack()
    const { url: databaseUrl } = stack.use(await startDatabase())
    const { path: dataDir } = stack.use(await temporaryDirectory())
    const environment = {
      BERTH_DATA: dataDir,
      BERTH_PORT: '0',
      DATABASE_URL: databaseUrl,
      BERTH_ADMIN_PASSWORD: ADMIN.password,
    }
    const victim = stack.use(await Victim.start('manager/main.ts', environment))
    const url = victim.ready.url as string
    const port = Number(new URL(url).port)
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    stack.defer(() => agent.destroy())
    const tokens = await signIns(url)
    const document = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as OpenApi
    const operations = Object.entries(document.paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method })),
      )
      .filter(({ path, operationId = '' }) => !LEFT_OUT.test(path) && !LEFT_OUT.test(operationId))
    if (operations.length < 20) throw new Error(`the OpenAPI document has ${operations.length} operations`)
    const ids: string[] = []
    const before = await victim.descriptors()

    function remember(body: string) {
      for (const id of new Set(body.match(UUID))) if (!ids.includes(id)) ids.push(id)
      ids.splice(0, Math.max(0, ids.length - MOST_IDS))
    }

    function textOf(random: Random, schema: Schema): string {
      if (schema.format === 'uuid' || random.chance(0.2))
        return ids.length > 0 && random.chance(0.9) ? random.pick(ids) : random.text()
      if (schema.format === 'date-time') return new Date(random.int(2 ** 31) * 1000).toISOString()
      if (schema.format === 'email') return `u${random.int(1000)}@example.org`
      return random.pick(['default', 'a', 'name-1', ADMIN.email, random.text()])
    }

    const shaping = {
      textOf,
      resolve: (ref: string) => document.components?.schemas?.[ref.split('/').at(-1) ?? ''],
    }
    return {
      async input(random) {
        const operation = random.pick(operations)
        const parameter = (place: string) => (operation.parameters ?? []).filter(({ in: where }) => where === place)
        let path = operation.path
        for (const { name, schema } of parameter('path')) {
          path = path.replace(`{${name}}`, encodeURIComponent(wellFormed(String(valueOf(random, schema, shaping, 1)))))
        }
        const query = parameter('query')
          .filter(() => random.chance(0.3))
          .map(
            ({ name, schema }) =>
              `${name}=${encodeURIComponent(wellFormed(String(valueOf(random, schema, shaping, 2))))}`,
          )
        const schema = operation.requestBody?.content?.['application/json']?.schema
        const token = random.pick(tokens)
        const headers: Record<string, string> = {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(schema
            ? {
                'content-type': random.chance(0.98)
                  ? 'application/json'
                  : random.pick(['text/plain', 'application/xml']),
              }
            : {}),
        }
        const sent = {
          method: operation.method.toUpperCase(),
          path: query.length > 0 ? `${path}?${query.join('&')}` : path,
          headers,
          body: schema ? spoiled(random, valueOf(random, schema, shaping)) : undefined,
        }
        const received = await send(agent, port, sent)
        remember(received.body)
        assertDocumented(sent, received)
      },
      async check() {
        victim.assertAlive()
        const more = (await victim.descriptors()) - before
        if (more > MORE_DESCRIPTORS) throw new Error(`${more} more descriptors than at the start`)
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  },
}

/** Lone surrogates cannot be written in a URL. */
const wellFormed = (text: string) => text.toWellFormed()

/** Nobody, and one account of each role. */
async function signIns(url: string): Promise<(string | undefined)[]> {
  const { token: admin } = await apiOf(url).login({ body: { ...ADMIN, kind: 'token' } })
  const tokens: (string | undefined)[] = [undefined, admin ?? undefined]
  for (const role of ['user', 'domain_admin', 'superadmin'] as const) {
    const account = { email: `${role}@example.org`, password: 'Their-own-pass-1' }
    await apiOf(url, admin ?? '').createUser({ body: { mustChangePassword: false, ...account, name: role, role } })
    const { token } = await apiOf(url).login({ body: { ...account, kind: 'token' } })
    tokens.push(token ?? undefined)
  }
  return tokens
}
