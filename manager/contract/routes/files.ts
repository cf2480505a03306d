import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import {
  DownloadSpec,
  DownloadTicket,
  DirectorySpec,
  FileDeletionSpec,
  FileEntry,
  FileImportSpec,
  FileListQuery,
  FileMoveSpec,
  FilePage,
  FilePath,
  FilesCopied,
  FolderCloned,
  FileSearchQuery,
  FilesFound,
  FilesMoved,
} from '../storage/files.ts'
import { FolderCloneSpec } from '../storage/folders.ts'
import { FolderId } from '../ids.ts'
import { Task, TaskId } from '../operation/tasks.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ id: FolderId })
const ofPath = z.object({ path: FilePath.default('') })

/** Files in folders. A caller sees the files of a folder that sessions of the caller may mount. */
export const FILE_ROUTES = {
  listFiles: {
    method: 'GET',
    path: '/api/v1/folders/:id/entries',
    access: 'user',
    summary: 'Entries of a directory, page by page.',
    params: named,
    query: FileListQuery,
    reply: FilePage,
  },
  getFile: {
    method: 'GET',
    path: '/api/v1/folders/:id/entry',
    access: 'user',
    summary: 'One file or directory, with the ETag that a change needs.',
    params: named,
    query: ofPath,
    reply: FileEntry,
  },
  searchFiles: {
    method: 'GET',
    path: '/api/v1/folders/:id/search',
    access: 'user',
    summary: 'Files and directories by a part of their names, below a directory.',
    params: named,
    query: FileSearchQuery,
    reply: FilesFound,
  },
  makeDirectory: {
    method: 'POST',
    path: '/api/v1/folders/:id/directories',
    access: 'user',
    summary: 'Make a directory.',
    params: named,
    body: DirectorySpec,
    status: 201,
    reply: FileEntry,
  },
  moveFiles: {
    method: 'POST',
    path: '/api/v1/folders/:id/moves',
    access: 'user',
    summary: 'Move files and directories within the folder, or rename one. Stops at the first that cannot be moved.',
    params: named,
    body: FileMoveSpec,
    reply: FilesMoved,
  },
  copyFiles: {
    method: 'POST',
    path: '/api/v1/folders/:id/copies',
    access: 'user',
    summary: 'Copy files and directories within the folder. A copy that takes long continues as a task.',
    params: named,
    body: FileMoveSpec,
    reply: FilesCopied,
  },
  importFiles: {
    method: 'POST',
    path: '/api/v1/folders/:id/imports',
    access: 'user',
    summary:
      'Copy or move files and directories from another folder. Needs the right to read there, for a move to delete. What takes long continues as a task, a copy of this folder.',
    params: named,
    body: FileImportSpec,
    reply: FilesCopied,
  },
  listCopies: {
    method: 'GET',
    path: '/api/v1/folders/:id/copies',
    access: 'user',
    summary: 'Copies of the caller in the folder that took long: those in progress, and those of the last days.',
    params: named,
    reply: z.object({ items: z.array(Task) }),
  },
  getCopy: {
    method: 'GET',
    path: '/api/v1/folders/:id/copies/:taskId',
    access: 'user',
    summary: 'Progress of a copy.',
    params: named.extend({ taskId: TaskId }),
    reply: Task,
  },
  cancelCopy: {
    method: 'DELETE',
    path: '/api/v1/folders/:id/copies/:taskId',
    access: 'user',
    summary: 'Cancel a copy. Entries that are complete stay, a half copy is removed.',
    params: named.extend({ taskId: TaskId }),
    status: 202,
    reply: Task,
  },
  cloneFolder: {
    method: 'POST',
    path: '/api/v1/folders/:id/clone',
    access: 'user',
    summary:
      'Copy the folder with all its files to a new one of the caller. A copy that takes long continues as a task; if it fails, is cancelled, or ends with its manager, the new folder is deleted.',
    params: named,
    body: FolderCloneSpec,
    status: 201,
    reply: FolderCloned,
  },
  deleteFiles: {
    method: 'POST',
    path: '/api/v1/folders/:id/deletions',
    access: 'user',
    summary: 'Delete files, and directories with everything in them. Their space is freed in the background.',
    params: named,
    body: FileDeletionSpec,
    status: 204,
    reply: z.void(),
  },
  readFile: {
    method: 'GET',
    path: '/api/v1/folders/:id/content',
    access: 'user',
    summary: 'Bytes of a file. Takes `Range`, `If-Range` and `If-None-Match`; HEAD answers the headers.',
    params: named,
    query: ofPath.extend({
      download: z.stringbool().optional().describe('Let browsers save the file instead of showing it.'),
    }),
    reply: z.string(),
  },
  writeFile: {
    method: 'PUT',
    path: '/api/v1/folders/:id/content',
    access: 'user',
    summary:
      'Replace a file (`If-Match: ETAG`) or make one (`If-None-Match: *`) with the body (`application/octet-stream`, at most 4 MiB). Readers see the old or the new file.',
    params: named,
    query: ofPath,
    streamedBody: 'application/octet-stream',
    reply: FileEntry,
  },
  archiveFiles: {
    method: 'GET',
    path: '/api/v1/folders/:id/archive',
    access: 'user',
    summary: 'Files and directories as a ZIP file, without links. `path` may be repeated.',
    params: named,
    query: z.object({
      path: z
        .preprocess(path => (path === undefined ? [''] : [path].flat()), z.array(FilePath).min(1).max(100))
        .describe('The whole folder if left out.'),
    }),
    reply: z.string(),
  },
  createDownload: {
    method: 'POST',
    path: '/api/v1/folders/:id/downloads',
    access: 'user',
    summary:
      'Make a link by which a browser downloads a file, or several as a ZIP file, without a sign-in. It is valid for four hours.',
    params: named,
    body: DownloadSpec,
    status: 201,
    reply: DownloadTicket,
  },
  downloadByTicket: {
    method: 'GET',
    path: '/api/v1/downloads/:ticket',
    access: 'none',
    summary:
      'The files of a link. One file takes `Range` and `If-Range`. The right to read them is checked with each request.',
    params: z.object({ ticket: TextUpTo(200).min(1) }),
    reply: z.string(),
  },
} as const satisfies Record<string, RouteSpec>
