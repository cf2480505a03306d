import { type Folders } from '../../folders/service.ts'
import { type Handlers } from '../handlers.ts'

type FolderRoutes =
  | 'listStorageHosts'
  | 'listFolders'
  | 'createFolder'
  | 'updateFolder'
  | 'trashFolder'
  | 'restoreFolder'
  | 'deleteFolder'

export function createFolderRoutes(folders: Folders): Pick<Handlers, FolderRoutes> {
  return {
    listStorageHosts: async ({ caller }) => ({ items: await folders.hosts(caller) }),
    listFolders: async ({ caller }, { query }) => ({ items: await folders.list(caller, query) }),
    createFolder: ({ caller }, { body }) => folders.create(caller, body),
    updateFolder: ({ caller }, { params, body }) => folders.update(caller, params.id, body),
    trashFolder: ({ caller }, { params }) => folders.trash(caller, params.id),
    restoreFolder: ({ caller }, { params }) => folders.restore(caller, params.id),
    deleteFolder: ({ caller }, { params }) => folders.remove(caller, params.id),
  }
}
