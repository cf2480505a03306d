import { type FastifyInstance } from 'fastify'
import { z } from 'zod'
import { AppError, because, type ManagerWarning, Problem } from '#manager/contract'
import { type Metrics } from '../../metrics.ts'
import { authorizeRoute } from '../../users/authorize.ts'
import { equalSecrets } from '../../users/secrets.ts'
import { type Authenticators, readCredentials } from '../credentials.ts'
import { completeDocument } from '../openapi.ts'
import { isLoopback, originOf } from '../origin.ts'
import { prepare, type Prepared, sendPrepared } from '../prepared.ts'

const CHECK_TIMEOUT_MS = 2_000

export interface OperationsDeps {
  readonly metrics: Metrics
  readonly authenticators: Authenticators
  /** Resolves if the database accepts writes. */
  readonly check: () => Promise<void>
  readonly warnings: () => readonly ManagerWarning[]
  /** Token of the scraper; without it `/metrics` is open to this computer. */
  readonly metricsToken?: string | undefined
}

/** Routes for operators and load balancers, and the description of the API. */
export function registerOperationsRoutes(
  app: FastifyInstance,
  { metrics, authenticators, check, warnings, metricsToken }: OperationsDeps,
): void {
  const config = { access: 'none' } as const
  const schema = { hide: true }

  app.get('/healthz', { config, schema }, () => ({ status: 'alive' }))

  app.get('/readyz', { config, schema }, async () => {
    await Promise.race([check(), silence()])
    // Codes only, because this route is public.
    const codes = [...new Set(warnings().map(({ code }) => code))]
    return { status: 'ready', ...(codes.length > 0 ? { warnings: codes } : {}) }
  })

  app.get('/metrics', { config, schema }, async (request, reply) => {
    const { raw } = request
    // A request forwarded by a proxy on this computer is not local; and if a token is set, local users need it as well.
    const isOpen = metricsToken === undefined && !originOf(raw).isForwarded && isLoopback(raw.socket.remoteAddress)
    if (!isOpen && !isScraper(raw.headers.authorization, metricsToken)) {
      const credentials = await readCredentials(authenticators, raw)
      authorizeRoute({ access: 'superadmin' }, credentials?.caller ?? null)
    }
    const { type, text } = await metrics.render()
    return reply.type(type).send(text)
  })

  let description: Prepared | undefined
  app.get('/api/v1/openapi.json', { config, schema }, (request, reply) => {
    description ??= prepare(JSON.stringify(completeDocument(app.swagger(), problemSchema())))
    return sendPrepared(request, reply.type('application/json; charset=utf-8'), description)
  })
}

/** The schema of a problem, inline: zod would turn a schema with an id into a reference to a separate document. */
function problemSchema(): object {
  const { $schema: _, ...schema } = z.toJSONSchema(z.object(Problem.shape), { io: 'input' })
  return schema
}

function isScraper(authorization: string | undefined, metricsToken: string | undefined): boolean {
  return metricsToken !== undefined && equalSecrets(authorization ?? '', `Bearer ${metricsToken}`)
}

/** Rejects after CHECK_TIMEOUT_MS. @throws AppError `unavailable` */
function silence(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new AppError('unavailable', because('database_away'))), CHECK_TIMEOUT_MS).unref()
  })
}
