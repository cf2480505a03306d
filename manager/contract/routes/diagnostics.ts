import { z } from 'zod'
import { Diagnosis } from '../operation/diagnostics.ts'
import { AgentId } from '../ids.ts'
import { type RouteSpec } from './route-spec.ts'

/** `berth doctor` of managers and of agents, and a bundle of data for a helper. */
export const DIAGNOSTICS_ROUTES = {
  diagnoseManager: {
    method: 'GET',
    path: '/api/v1/diagnostics/managers/:id',
    access: 'superadmin',
    summary: 'Run `berth doctor` on the computer of a manager. One that does not answer fails within a minute.',
    params: z.object({ id: z.uuid().describe('Id of the process, as `GET /api/v1/managers` lists it.') }),
    reply: Diagnosis,
  },
  diagnoseAgent: {
    method: 'GET',
    path: '/api/v1/diagnostics/agents/:id',
    access: 'superadmin',
    summary: 'Run `berth doctor` on the host of an agent. One that does not answer fails within a minute.',
    params: z.object({ id: AgentId }),
    reply: Diagnosis,
  },
  downloadDiagnostics: {
    method: 'GET',
    path: '/api/v1/diagnostics/bundle',
    access: 'superadmin',
    summary: 'Results, versions, settings, states and recent log lines as a .tar.gz, with secrets blanked.',
    query: z.object({
      addresses: z.enum(['keep', 'blank']).default('blank').describe('Whether e-mail addresses stay in the bundle.'),
    }),
    reply: z.string(),
  },
} as const satisfies Record<string, RouteSpec>
