import { z } from 'zod'
import { SessionTemplate, TemplateName } from '../sessions/session-templates.ts'
import { SessionSpec } from '../sessions/sessions.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ name: TemplateName })

/** Templates: requests that the caller has stored under names. Only the caller sees them. */
export const SESSION_TEMPLATE_ROUTES = {
  listSessionTemplates: {
    method: 'GET',
    path: '/api/v1/session-templates',
    access: 'user',
    summary: 'List your own templates, by name.',
    reply: z.object({ items: z.array(SessionTemplate) }),
  },
  saveSessionTemplate: {
    method: 'PUT',
    path: '/api/v1/session-templates/:name',
    access: 'user',
    summary: 'Store a request for sessions under a name, in place of the template that has it (in any letter case).',
    params: named,
    body: SessionSpec,
    reply: SessionTemplate,
  },
  setDefaultSessionTemplate: {
    method: 'PUT',
    path: '/api/v1/session-templates/:name/default',
    access: 'user',
    summary: 'Let your launch dialog begin with one of your templates, in place of any other, or no longer.',
    params: named,
    body: z.strictObject({ isDefault: z.boolean() }),
    reply: SessionTemplate,
  },
  deleteSessionTemplate: {
    method: 'DELETE',
    path: '/api/v1/session-templates/:name',
    access: 'user',
    summary: 'Delete one of your own templates.',
    params: named,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
