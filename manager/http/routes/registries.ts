import { type Tasks } from '../../tasks/tasks.ts'
import { type Registries } from '../../registries/registries.ts'
import { type Handlers } from '../handlers.ts'

type RegistryRoutes =
  | 'listRegistries'
  | 'createRegistry'
  | 'updateRegistry'
  | 'deleteRegistry'
  | 'rescanRegistry'
  | 'testRegistry'
  | 'listTasks'
  | 'getTask'
  | 'cancelTask'

export function createRegistryRoutes(deps: { registries: Registries; tasks: Tasks }): Pick<Handlers, RegistryRoutes> {
  const { registries, tasks } = deps
  return {
    listRegistries: async () => ({ items: await registries.list() }),
    createRegistry: (_context, { body }) => registries.create(body),
    updateRegistry: (_context, { params, body }) => registries.update(params.name, body),
    deleteRegistry: (_context, { params }) => registries.remove(params.name),
    rescanRegistry: ({ caller }, { params }) => registries.rescan(caller, params.name),
    testRegistry: (_context, { params }) => registries.test(params.name),
    listTasks: async () => ({ items: await tasks.list() }),
    getTask: (_context, { params }) => tasks.get(params.id),
    cancelTask: (_context, { params }) => tasks.cancel(params.id),
  }
}
