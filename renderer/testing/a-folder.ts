import { type Folder } from '#manager/contract'

const OWNER = '01990000-0000-7000-8000-000000000001' as NonNullable<Folder['ownerId']>

/** A folder of a user for tests; a higher index is newer. */
export function aFolder(index: number, change: Partial<Folder> = {}): Folder {
  return {
    id: `0199f000-0000-7000-8000-${String(index).padStart(12, '0')}` as Folder['id'],
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
    createdAt: new Date(Date.UTC(2026, 10, 1) + index * 60_000).toISOString(),
    version: 1,
    ...change,
  }
}
