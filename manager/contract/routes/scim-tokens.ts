import { z } from 'zod'
import { NewScimToken, ScimToken, ScimTokenId, ScimTokenSpec } from '../identity/scim.ts'
import { type RouteSpec } from './route-spec.ts'

/** Tokens of identity providers that write accounts and projects by SCIM. */
export const SCIM_TOKEN_ROUTES = {
  listScimTokens: {
    method: 'GET',
    path: '/api/v1/scim-tokens',
    access: 'domain_admin',
    summary: 'List the SCIM tokens of the domains that you administer, and the address for the identity provider.',
    reply: z.object({
      items: z.array(ScimToken),
      baseUrl: z.string().describe('Base URL of SCIM, derived from publicUrl.'),
    }),
  },
  createScimToken: {
    method: 'POST',
    path: '/api/v1/scim-tokens',
    access: 'domain_admin',
    byPerson: true,
    summary: 'Make a SCIM token for a domain. It is shown in this answer only.',
    body: ScimTokenSpec,
    status: 201,
    reply: NewScimToken,
  },
  deleteScimToken: {
    method: 'DELETE',
    path: '/api/v1/scim-tokens/:id',
    access: 'domain_admin',
    byPerson: true,
    summary: 'End a SCIM token. Accounts and projects stay as they are.',
    params: z.object({ id: ScimTokenId }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
