import { z } from 'zod'
import { TextOf } from '../plain-text.ts'
import { CertificateReport, ConsoleCertificate } from '../operation/certificates.ts'
import { Manager, ManagerWarning, Versions } from '../agents/managers.ts'
import { type RouteSpec } from './route-spec.ts'

/** The manager processes themselves. */
export const MANAGER_ROUTES = {
  listManagers: {
    method: 'GET',
    path: '/api/v1/managers',
    access: 'superadmin',
    summary: 'List the managers on this database, and their problems.',
    reply: z.object({ items: z.array(Manager), warnings: z.array(ManagerWarning) }),
  },
  getVersions: {
    method: 'GET',
    path: '/api/v1/versions',
    access: 'superadmin',
    summary: 'Versions of the manager that answers, of what it runs on, and of the agents.',
    reply: Versions,
  },
  listCertificates: {
    method: 'GET',
    path: '/api/v1/certificates',
    access: 'superadmin',
    summary: 'List the TLS certificates of the consoles, and their problems.',
    reply: z.object({ items: z.array(ConsoleCertificate) }),
  },
  reportCertificate: {
    method: 'PUT',
    path: '/console/v1/certificates/:console',
    access: 'console',
    summary: 'For the console: the certificate that it presents.',
    params: z.object({ console: TextOf(260, /^[\w.-]{1,260}$/) }),
    body: CertificateReport,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
