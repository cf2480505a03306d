import { type Versions } from '#manager/contract'
import { type ManagerList } from '../../scheduler/managers.ts'
import { type Handlers } from '../handlers.ts'

export function createManagerRoutes({
  managers,
  versions,
}: {
  managers: ManagerList
  versions: () => Promise<Versions>
}): Pick<Handlers, 'listManagers' | 'getVersions'> {
  return { listManagers: () => managers.list(), getVersions: () => versions() }
}
