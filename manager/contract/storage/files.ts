import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { isFilePath, MOST_PATHS } from './file-paths.ts'
import { Folder } from './folders.ts'
import { FolderId } from '../ids.ts'
import { CopyLeftOut, Task } from '../operation/tasks.ts'

/** Longest path in bodies and queries; longer paths exist only if a program created them step by step. */
const LONGEST_PATH = 8_192

/** Path of a file or directory in a folder: parts separated by `/`, none of them `.` or `..`. Empty: the folder itself. */
export const FilePath = TextUpTo(LONGEST_PATH)
  .refine(
    path => path === '' || isFilePath(path),
    'must be relative to the folder, with parts of 1 to 255 bytes that are not "." or ".."',
  )
  .describe(
    'Relative to the folder. A byte of a name that is not valid UTF-8 is the character U+EF00 plus the byte: send names back as they came.',
  )
/** Path of a file or directory that is not the folder itself. */
export const FilePathInside = FilePath.refine(path => path !== '', 'must name a file or directory in the folder')
/** Name of a file: one part of a path. */
export const FileName = TextUpTo(255).refine(
  name => isFilePath(name) && !name.includes('/'),
  'must have 1 to 255 bytes and no "/", and not be "." or ".."',
)

export const FileKind = z.enum(['file', 'directory', 'link', 'other'])
export type FileKind = z.infer<typeof FileKind>

const ENTRY_STATE = {
  size: z.int().describe('Bytes; of a directory 0.'),
  modifiedAt: z.iso.datetime(),
  etag: z.string().nullable().describe('Changes with the content of a file; null for what is no file.'),
  executable: z.boolean().describe('Whether it is a file that its owner may run.'),
  ownerOnly: z.boolean().optional().describe('True for a file to which nobody but its owner has any right.'),
}

/** A file, directory or link. */
export const FileEntry = z
  .object({
    name: z.string().describe('Empty for the folder itself.'),
    kind: FileKind.describe('`other`: a pipe, a socket or a device, which is never read.'),
    ...ENTRY_STATE,
    target: z
      .object({
        path: z.string().describe('In the same folder; no link lies on it.'),
        kind: FileKind.extract(['file', 'directory']),
        ...ENTRY_STATE,
      })
      .optional()
      .describe(
        'Of a link: the file or directory of the same folder that it leads to, and that a read by the path of the link gets. Left out where there is none.',
      ),
  })
  .meta({ id: 'FileEntry' })
export type FileEntry = z.infer<typeof FileEntry>

export const FILE_SORTS = ['name', 'size', 'modified'] as const

/** Query for the entries of a directory. */
export const FileListQuery = z.object({
  path: FilePath.default(''),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  after: TextUpTo(2_000).optional().describe('`next` of the page before.'),
  sort: z.enum(FILE_SORTS).default('name').describe('Directories come first.'),
  order: z.enum(['asc', 'desc']).default('asc'),
  names: TextUpTo(255).optional().describe('Only entries whose names contain this text, in any letter case.'),
})
export type FileListQuery = z.infer<typeof FileListQuery>

export const FilePage = z
  .object({
    items: z.array(FileEntry),
    next: z.string().nullable().describe('For the next page; null at the end.'),
    sorted: z
      .boolean()
      .describe('False for a directory with more than 10,000 entries, which come in the order of the file system.'),
    total: z.int().nullable().describe('Number of entries; null where they are not sorted.'),
  })
  .meta({ id: 'FilePage' })
export type FilePage = z.infer<typeof FilePage>

const Paths = z.array(FilePathInside).min(1).max(MOST_PATHS)

/**
 * Rule if a name is taken: refuse, replace, or use the next free `name (1)`. A move or copy replaces a directory as a whole; an upload
 * never replaces a directory.
 */
export const FileConflict = z.enum(['fail', 'replace', 'rename'])
export type FileConflict = z.infer<typeof FileConflict>

export const DirectorySpec = z
  .strictObject({
    path: FilePathInside,
    parents: z.boolean().default(false).describe('Make missing directories on the way, and accept one that exists.'),
  })
  .meta({ id: 'DirectorySpec' })
export type DirectorySpec = z.infer<typeof DirectorySpec>

/** Request to move or copy files and directories within a folder. */
const move = {
  paths: Paths,
  to: FilePath.describe('Directory that they go to.'),
  name: FileName.optional().describe('New name, for one path: the way to rename it.'),
  onConflict: FileConflict.default('fail'),
}
const namesOne = ({ paths, name }: { paths: string[]; name?: string | undefined }) =>
  name === undefined || paths.length === 1
const NAMES_ONE = { path: ['name'], message: 'needs exactly one path' }

export const FileMoveSpec = z.strictObject(move).refine(namesOne, NAMES_ONE).meta({ id: 'FileMoveSpec' })
export type FileMoveSpec = z.infer<typeof FileMoveSpec>

/** Request to copy or move files and directories from another folder. */
export const FileImportSpec = z
  .strictObject({
    from: FolderId.describe('Folder that has the files.'),
    mode: z.enum(['copy', 'move']).default('copy'),
    ...move,
  })
  .refine(namesOne, NAMES_ONE)
  .meta({ id: 'FileImportSpec' })
export type FileImportSpec = z.infer<typeof FileImportSpec>

export const FileDeletionSpec = z.strictObject({ paths: Paths }).meta({ id: 'FileDeletionSpec' })
export type FileDeletionSpec = z.infer<typeof FileDeletionSpec>

/** New paths, in the order of the request. */
export const FilesMoved = z
  .object({ items: z.array(z.object({ path: z.string(), to: z.string() })) })
  .meta({ id: 'FilesMoved' })
export type FilesMoved = z.infer<typeof FilesMoved>

export const FilesCopied = z
  .object({
    items: z.array(z.object({ path: z.string(), to: z.string() })).describe('Copies that are complete.'),
    task: Task.nullable().describe('Set if the copy takes longer than a second: it continues as this task.'),
    leftOut: CopyLeftOut.optional(),
  })
  .meta({ id: 'FilesCopied' })
export type FilesCopied = z.infer<typeof FilesCopied>

export const FolderCloned = z
  .object({
    folder: Folder.describe('The new folder.'),
    task: Task.nullable().describe(
      'Set if the copy takes longer than a second: it goes on as this task, a copy of the new folder.',
    ),
    leftOut: CopyLeftOut.optional(),
  })
  .meta({ id: 'FolderCloned' })
export type FolderCloned = z.infer<typeof FolderCloned>

export const FileSearchQuery = z.object({
  path: FilePath.default('').describe('Directory to search, with everything below.'),
  text: TextUpTo(255).min(1).describe('Part of a name, in any letter case.'),
  limit: z.coerce.number().int().min(1).max(500).default(100),
})
export type FileSearchQuery = z.infer<typeof FileSearchQuery>

export const FilesFound = z
  .object({
    items: z.array(FileEntry.extend({ path: z.string() })),
    complete: z.boolean().describe('False if the search ended early: too many hits, too many files, or ten seconds.'),
  })
  .meta({ id: 'FilesFound' })
export type FilesFound = z.infer<typeof FilesFound>

/** Largest file that `PUT content` accepts; larger ones are uploaded. */
export const MOST_TEXT_BYTES = 4 * 1024 * 1024

/** Request for a link by which a browser downloads files. */
export const DownloadSpec = z
  .strictObject({
    paths: z
      .array(FilePath)
      .min(1)
      .max(MOST_PATHS)
      .describe('One file, or files and directories that come as a ZIP file.'),
  })
  .meta({ id: 'DownloadSpec' })
export type DownloadSpec = z.infer<typeof DownloadSpec>

export const DownloadTicket = z
  .object({
    url: z.string().describe('Below the address of the manager. Whoever has it can download the files.'),
    expiresAt: z.iso.datetime().describe('It ends before if the sign-in ends that asked for it.'),
  })
  .meta({ id: 'DownloadTicket' })
export type DownloadTicket = z.infer<typeof DownloadTicket>
