import { z } from 'zod'
import { AUDIT_FORMATS, AuditEntry, AuditFilter, AuditSort } from '../operation/audit.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** The audit log. A superadmin sees all entries, an admin of a domain those made in that domain's name. */
export const AUDIT_ROUTES = {
  listAuditLog: {
    method: 'GET',
    path: '/api/v1/audit-log',
    access: 'domain_admin',
    summary: 'The audit log, newest first unless `sort` says otherwise.',
    query: Page.extend({
      ...AuditFilter.shape,
      sort: AuditSort.default('-at').describe('By time: `at` has the oldest first.'),
    }),
    reply: pageOf(AuditEntry),
  },
  exportAuditLog: {
    method: 'GET',
    path: '/api/v1/audit-log/export',
    access: 'domain_admin',
    summary: 'The audit log as a file, oldest first: CSV, or one JSON object per line.',
    query: AuditFilter.extend({ format: z.enum(AUDIT_FORMATS).default('jsonl') }),
    reply: z.string(),
  },
} as const satisfies Record<string, RouteSpec>
