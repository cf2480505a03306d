import { type ManagerList } from '../../scheduler/managers.ts'
import { type Handlers } from '../handlers.ts'

export function createManagerRoutes({ managers }: { managers: ManagerList }): Pick<Handlers, 'listManagers'> {
  return { listManagers: () => managers.list() }
}
