import { type FolderKit } from '#proxy/contract'
import {
  type ErrorCode,
  type Folder,
  type FolderCloneSpec,
  type FolderSpec,
  type StorageHost,
  type Task,
} from '#manager/contract'
import { type World } from './console-double-world.ts'
import { ago, OTHER, OWNER } from './console-world.ts'

export type FolderAnswer =
  | { readonly status: number; readonly value?: unknown }
  | { readonly error: ErrorCode; readonly detail?: Record<string, unknown> }

const idOf = (index: number) => `0199f000-0000-7000-8000-${String(index).padStart(12, '0')}` as Folder['id']

/** A folder of the signed-in person; a higher index is older. */
export function aFolder(index: number, change: Partial<Folder> = {}): Folder {
  return {
    id: idOf(index),
    name: `folder-${index}`,
    storageHost: 'local',
    ownerId: OWNER,
    owner: { email: 'mira@example.com', name: 'Mira Holm' },
    group: null,
    usageMode: 'general',
    permission: 'delete',
    usable: true,
    manageable: true,
    invited: false,
    sharedWith: 0,
    usage: null,
    limit: null,
    fileLimit: null,
    cloning: false,
    status: 'ready',
    trashedAt: null,
    createdAt: ago(index * 1_500 + 5),
    version: 1,
    ...change,
  }
}

export const LOCAL: StorageHost = {
  name: 'local',
  problem: null,
  space: { usedBytes: 412_316_860_416, freeBytes: 687_194_767_360 },
}
const VISION = { id: '01990000-0000-7000-8000-0000000000b2', name: 'vision' } as NonNullable<Folder['group']>

/** A folder of every kind that the list can show. */
export const variedFolders = (): Folder[] => [
  aFolder(1, {
    limit: { bytes: 53_687_091_200, enforced: false },
    fileLimit: { files: 2_000_000, enforced: false },
    name: 'experiments',
    usage: { bytes: 41_802_391_552, files: 18_204, measuredAt: ago(3) },
  }),
  aFolder(2, { name: '.local' }),
  aFolder(3, {
    name: 'imagenet-2012-train-and-validation-sets',
    usageMode: 'data',
    storageHost: 'archive',
    usage: { bytes: 166_301_049_856, files: 1_331_168, measuredAt: ago(30) },
  }),
  aFolder(4, {
    name: 'models',
    usageMode: 'model',
    group: VISION,
    ownerId: null,
    owner: null,
    sharedWith: null,
    permission: 'ro',
    manageable: false,
  }),
  aFolder(5, { name: 'papers', sharedWith: 2, usage: { bytes: 4_096, files: 1, measuredAt: ago(1) } }),
  aFolder(7, {
    name: 'genomes',
    ownerId: OTHER.ownerId,
    owner: { email: OTHER.ownerEmail, name: 'Jonas Lindqvist' },
    permission: 'rw',
    manageable: false,
    invited: true,
    sharedWith: null,
  }),
  aFolder(6, { name: 'old-runs', status: 'trashed', trashedAt: ago(300) }),
]

/** A copy that fills a folder. */
function aCopyTask({ id, name }: Folder): Task {
  return {
    id: '0199aa00-0000-7000-8000-000000000001',
    kind: 'copy',
    target: name,
    status: 'running',
    error: null,
    rescan: null,
    pull: null,
    backup: null,
    sessionId: null,
    copy: { folderId: id, files: 1_284, bytes: 3_972_844_748 },
    startedBy: 'mira@example.com',
    createdAt: ago(1),
    endedAt: null,
    version: 1,
  }
}

/** Folders and storage hosts. @returns undefined for a route that is not about them */
export function answerFolders(world: World, route: string, url: URL, body: unknown): FolderAnswer | undefined {
  const folders = (world.folders ??= [])
  if (route === 'GET /api/v1/storage-hosts')
    return {
      status: 200,
      value: {
        items: world.storageHosts ?? [LOCAL],
        folders: world.folderCount ?? {
          count: folders.length,
          limit: null,
          usedBytes: 0,
          limitBytes: null,
          usedFiles: 0,
          limitFiles: null,
        },
      },
    }
  if (route === 'GET /api/v1/folders') {
    const status = url.searchParams.get('trashed') === 'true' ? 'trashed' : 'ready'
    return { status: 200, value: { items: folders.filter(folder => folder.status === status) } }
  }
  if (route === 'POST /api/v1/folders') {
    const spec = body as FolderSpec
    const made = aFolder(1_000 + folders.length, { name: spec.name, createdAt: new Date().toISOString() })
    folders.push(made)
    return { status: 201, value: made }
  }
  const [, method, id, action] = /^(\w+) \/api\/v1\/folders\/([0-9a-f-]{36})(\/.*)?$/.exec(route) ?? []
  if (id === undefined) return undefined
  const folder = folders.find(candidate => candidate.id === id)
  if (!folder) return { error: 'folder_not_found' }
  if (method === 'DELETE' && action === undefined) {
    folders.splice(folders.indexOf(folder), 1)
    return { status: 204 }
  }
  if (route.startsWith('POST ') && action === '/clone') {
    const { name } = body as FolderCloneSpec
    const made = aFolder(1_000 + folders.length, { name, createdAt: new Date().toISOString(), cloning: true })
    folders.push(made)
    return { status: 201, value: { folder: made, task: aCopyTask(made) } }
  }
  if (action === '/copies' && folder.cloning) return { status: 200, value: { items: [aCopyTask(folder)] } }
  if (action === '/shares') return { status: 200, value: world.shares ?? { members: [], invitations: [] } }
  if (action === '/leave') {
    folders.splice(folders.indexOf(folder), 1)
    return { status: 204 }
  }
  const change = changeOf(method, action, body)
  return change && { status: 200, value: Object.assign(folder, change, { version: folder.version + 1 }) }
}

function changeOf(method: string | undefined, action: string | undefined, body: unknown): Partial<Folder> | undefined {
  if (method === 'PATCH' && action === undefined) return body as Partial<Folder>
  if (action === '/trash') return { status: 'trashed', trashedAt: new Date().toISOString() }
  if (action === '/restore') return { status: 'ready', trashedAt: null }
  return undefined
}

/** The SFTP port of the person's folders. */
export const FOLDER_KIT: FolderKit = {
  port: { host: '127.0.0.1', port: 30_022, connections: 1, openedAt: '2026-11-20T10:00:00.000Z' },
  user: 'work',
  hostAlias: 'berth-folders',
  hostKeyFingerprint: 'SHA256:n7Xk2tQbqQ0bqk8oY3Wl2m1cVb0nQ3yXk8r9s1t2u3v',
  configInstalled: true,
  identityFile: '/home/ada/.ssh/berth/id_container-berth-folders',
  configFile: '/home/ada/.ssh/berth/config',
  commands: {
    sftp: 'sftp berth-folders',
    sshfs: 'sshfs berth-folders:/ MOUNTPOINT',
    rclone:
      'rclone config create berth sftp host=127.0.0.1 port=30022 user=work key_file=/home/ada/.ssh/berth/id_container-berth-folders known_hosts_file=/home/ada/.local/share/berth/proxy/0199/sftp/known_hosts',
    psftp: 'psftp -P 30022 -i /home/ada/.ssh/berth/id_container-berth-folders.ppk work@127.0.0.1',
  },
  winscpUrl: 'sftp://work@127.0.0.1:30022/',
}
