import { z } from 'zod'
import { Folder, FolderChange, FolderCount, FolderSpec, StorageHost } from '../storage/folders.ts'
import { FolderId } from '../ids.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ id: FolderId })

/** Folders: directories that outlive sessions. */
export const FOLDER_ROUTES = {
  listStorageHosts: {
    method: 'GET',
    path: '/api/v1/storage-hosts',
    access: 'user',
    summary: 'Places for folders, whether each can be used now, and the room that is left.',
    reply: z.object({ items: z.array(StorageHost), folders: FolderCount }),
  },
  listFolders: {
    method: 'GET',
    path: '/api/v1/folders',
    access: 'user',
    summary: 'The own folders and those of the own projects.',
    query: z.object({ trashed: z.stringbool().optional().describe('The folders in the trash instead.') }),
    reply: z.object({ items: z.array(Folder) }),
  },
  createFolder: {
    method: 'POST',
    path: '/api/v1/folders',
    access: 'user',
    idempotencyKey: true,
    summary: 'Create a folder of the caller; an admin also one of a project.',
    body: FolderSpec,
    status: 201,
    reply: Folder,
  },
  updateFolder: {
    method: 'PATCH',
    path: '/api/v1/folders/:id',
    access: 'user',
    summary:
      'Rename a folder, or change what it is for, its limit, or what the members of its project may do; sessions keep what they have mounted.',
    params: named,
    body: FolderChange,
    reply: Folder,
  },
  trashFolder: {
    method: 'POST',
    path: '/api/v1/folders/:id/trash',
    access: 'user',
    summary: 'Move a folder that no live session uses to the trash. Safe to repeat.',
    params: named,
    reply: Folder,
  },
  restoreFolder: {
    method: 'POST',
    path: '/api/v1/folders/:id/restore',
    access: 'user',
    summary: 'Take a folder out of the trash. Safe to repeat.',
    params: named,
    reply: Folder,
  },
  deleteFolder: {
    method: 'DELETE',
    path: '/api/v1/folders/:id',
    access: 'user',
    summary: 'Delete a folder in the trash, and all files in it, permanently.',
    params: named,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
