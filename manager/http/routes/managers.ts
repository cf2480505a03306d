import { type Versions } from '#manager/contract'
import { type ManagerList } from '../../scheduler/managers.ts'
import { type Certificates } from '../../certificates/certificates.ts'
import { type Handlers } from '../handlers.ts'

export function createManagerRoutes({
  managers,
  certificates,
  versions,
}: {
  managers: ManagerList
  certificates: Certificates
  versions: () => Promise<Versions>
}): Pick<Handlers, 'listManagers' | 'getVersions' | 'listCertificates' | 'reportCertificate'> {
  return {
    listManagers: () => managers.list(),
    getVersions: () => versions(),
    listCertificates: async () => ({ items: await certificates.list() }),
    reportCertificate: (_context, { params, body }) => certificates.report(params.console, body),
  }
}
