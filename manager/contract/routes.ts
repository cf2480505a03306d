import { AGENT_ROUTES } from './routes/agents.ts'
import { AUTH_ROUTES } from './routes/auth.ts'
import { DOMAIN_ROUTES } from './routes/domains.ts'
import { GRANT_ROUTES } from './routes/grants.ts'
import { IMAGE_ROUTES } from './routes/images.ts'
import { KEYPAIR_ROUTES } from './routes/keypairs.ts'
import { RESOURCE_GROUP_ROUTES } from './routes/resource-groups.ts'
import { SESSION_ROUTES } from './routes/sessions.ts'
import { USER_ROUTES } from './routes/users.ts'

export { type Access, type RouteSpec } from './routes/route-spec.ts'

/** The whole HTTP surface of the manager below /api/v1, in one table: server, typed client and OpenAPI read it. */
export const ROUTES = {
  ...AUTH_ROUTES,
  ...USER_ROUTES,
  ...DOMAIN_ROUTES,
  ...KEYPAIR_ROUTES,
  ...SESSION_ROUTES,
  ...GRANT_ROUTES,
  ...IMAGE_ROUTES,
  ...AGENT_ROUTES,
  ...RESOURCE_GROUP_ROUTES,
} as const

export type RouteName = keyof typeof ROUTES
