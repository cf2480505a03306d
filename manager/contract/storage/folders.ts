import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { CauseFields } from '../causes/fields.ts'
import { GroupRef } from '../identity/domains.ts'
import { utf8Length } from './file-paths.ts'
import { FolderId, UserId } from '../ids.ts'
import { isLikeId } from '#base/shapes'

/** Names that a session's home itself uses: a folder of that name would hide them. */
export const RESERVED_FOLDER_NAME =
  /^(id_container|\.terminfo|\.jupyter|\.tmux\.conf|\.[a-z0-9]+rc|\.[a-z0-9]+_profile)$/

export const FOLDER_NAME = /^\.?[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

/** Name of a folder, and of the directory at which a session sees it. */
export const FolderName = TextOf(
  64,
  FOLDER_NAME,
  'must be 1 to 64 letters, digits, "-", "_" or ".", and start with a letter, a digit, or "." and one of these',
).refine(name => !RESERVED_FOLDER_NAME.test(name), 'is a name that sessions use themselves; choose another')

/** Name for new folders. Folders of older versions may have names that look like ids. */
const NewFolderName = FolderName.refine(name => !isLikeId(name), 'has the form of an id; choose another')

export const StorageHostName = TextOf(
  64,
  /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/,
  'must be 1 to 64 small letters, digits or inner "-"',
)

/** Setting of manager and agents: `local=/srv/berth,archive=/mnt/archive`. The result maps names to absolute paths. */
export const StoragePaths = z.string().transform((text, context): Map<string, string> => {
  const pairs = text.split(',').map(pair => /^\s*([^=]+)=(\/.*?)\/*\s*$/.exec(pair))
  const paths = new Map(pairs.map(pair => [pair?.[1] ?? '', pair?.[2] ?? '']))
  const isSound =
    pairs.every(pair => pair !== null) && [...paths.keys()].every(name => StorageHostName.safeParse(name).success)
  if (isSound && paths.size === pairs.length) return paths
  context.addIssue({
    code: 'custom',
    message: 'must look like local=/srv/berth,archive=/mnt/archive, with absolute paths',
  })
  return z.NEVER
})

/** The default storage host of a Berth, at `storage` in its data directory. */
export const USUAL_STORAGE_HOST = 'local'

/** A directory for folders, on a disk or a shared file system. */
export const StorageHost = z
  .object({
    name: StorageHostName,
    problem: z.string().nullable().describe('Why it cannot be used now; null if it can.'),
    ...CauseFields,
    space: z
      .object({
        usedBytes: z.int().describe('By everything on its file system, folders of others included.'),
        freeBytes: z.int().describe('That can still be written.'),
      })
      .nullable()
      .describe('Of its file system; null while it cannot be used.'),
  })
  .meta({ id: 'StorageHost' })
export type StorageHost = z.infer<typeof StorageHost>

/** Number of folders that the caller owns, and may own. */
export const FolderCount = z
  .object({
    count: z.int().describe('Own folders, those in the trash included.'),
    limit: z.int().nullable().describe('The most that the resource policies allow; null if they allow any number.'),
    usedBytes: z.int().describe('Measured size of these folders on disk, as far as they have been measured.'),
    limitBytes: z.int().nullable().describe('The most that they may have together; null = unlimited.'),
    usedFiles: z.int().describe('Files, directories and links in them, as far as they have been counted.'),
    limitFiles: z.int().nullable().describe('As `limitBytes`.'),
  })
  .meta({ id: 'FolderCount' })
export type FolderCount = z.infer<typeof FolderCount>

/**
 * Each permission includes the ones before it: read; create and change; delete and rename. A session cannot tell writing from deleting, so
 * its mount is read-only for `ro`, and otherwise allows every change.
 */
export const FolderPermission = z.enum(['ro', 'rw', 'delete'])
export type FolderPermission = z.infer<typeof FolderPermission>

export const FolderStatus = z.enum(['ready', 'trashed', 'deleting'])
export type FolderStatus = z.infer<typeof FolderStatus>

/** Purpose of a folder: files of any kind, data sets, or trained models. It is shown and searchable; it gives no rights. */
export const FolderUsageMode = z.enum(['general', 'data', 'model'])
export type FolderUsageMode = z.infer<typeof FolderUsageMode>

/** A user as others see them: the owner of a folder, or the person who invites to it. */
export const Person = z.object({ email: z.string(), name: z.string() }).meta({ id: 'Person' })
export type Person = z.infer<typeof Person>

/** A directory of a user or of a project that outlives sessions and that sessions mount. */
export const Folder = z
  .object({
    id: FolderId,
    name: FolderName,
    storageHost: StorageHostName,
    ownerId: UserId.nullable().describe('Null for the folder of a project.'),
    owner: Person.nullable().describe('Null for the folder of a project.'),
    group: GroupRef.nullable().describe('The project that owns it; null for the folder of a user.'),
    usageMode: FolderUsageMode.describe('What the folder is for.'),
    permission: FolderPermission.describe(
      'What the caller may do with its files; what members may, if the caller only administers the project.',
    ),
    usable: z.boolean().describe('Whether sessions of the caller may mount it.'),
    manageable: z.boolean().describe('Whether the caller may rename, share and delete it.'),
    invited: z.boolean().describe('Whether the caller accepted an invitation to it, and may leave it.'),
    sharedWith: z
      .int()
      .nullable()
      .describe('Number of members and open invitations; null if the caller does not manage the folder.'),
    usage: z
      .object({
        bytes: z.int().describe('On disk.'),
        files: z.int().describe('Number of files and directories.'),
        measuredAt: z.iso.datetime(),
      })
      .nullable()
      .describe(
        'Measured in the background after the folder was listed; null before, and if the count takes too long.',
      ),
    limit: z
      .object({
        bytes: z.int().describe('The most that its files may take on disk.'),
        enforced: z
          .boolean()
          .describe('Whether its file system refuses more; if not, Berth does, and sessions may exceed the limit.'),
      })
      .nullable()
      .describe('Null if the size of this folder is not limited.'),
    fileLimit: z
      .object({
        files: z.int().describe('The most files, directories and links that it may have.'),
        enforced: z.boolean().describe('As that of `limit`.'),
      })
      .nullable()
      .describe('Null if the number of its files is not limited.'),
    cloning: z
      .boolean()
      .describe('Whether it is still being filled with a copy of another folder: sessions cannot mount it yet.'),
    status: FolderStatus,
    trashedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    version: z.int(),
  })
  .meta({ id: 'Folder' })
export type Folder = z.infer<typeof Folder>

/** A smaller limit would be reached by the first directory. */
const LargestFolder = z
  .int()
  .min(2 ** 20)
  .max(2 ** 50)

const MostFiles = z.int().min(1).max(1_000_000_000)

/** Request for a new folder. */
export const FolderSpec = z
  .strictObject({
    name: NewFolderName,
    storageHost: StorageHostName.optional().describe('The first of the list if left out.'),
    group: TextUpTo(64)
      .optional()
      .describe('Id or name of a project that is to own it, for admins. The caller owns it if left out.'),
    permission: FolderPermission.optional().describe(
      'What the members of the project may do in it; rw if left out. Only for the folder of a project.',
    ),
    usageMode: FolderUsageMode.optional().describe('What the folder is for; general if left out.'),
    maxBytes: LargestFolder.optional().describe('The most that its files may take on disk; unlimited if left out.'),
    maxFiles: MostFiles.optional().describe(
      'The most files, directories and links that it may have; unlimited if left out.',
    ),
  })
  .meta({ id: 'FolderSpec' })
export type FolderSpec = z.infer<typeof FolderSpec>

/** Request to copy a folder, with all its files, to a new one of the caller. */
export const FolderCloneSpec = z
  .strictObject({
    name: NewFolderName.describe('Of the new folder.'),
    storageHost: StorageHostName.optional().describe('That of the folder if left out.'),
  })
  .meta({ id: 'FolderCloneSpec' })
export type FolderCloneSpec = z.infer<typeof FolderCloneSpec>

/** Change of a folder. A key that is left out keeps its value. */
export const FolderChange = z
  .strictObject({
    name: NewFolderName,
    usageMode: FolderUsageMode,
    permission: FolderPermission,
    maxBytes: LargestFolder.nullable().describe('Null = unlimited.'),
    maxFiles: MostFiles.nullable().describe('Null = unlimited.'),
  })
  .partial()
  .meta({ id: 'FolderChange' })
export type FolderChange = z.infer<typeof FolderChange>

/** Home of a session: folders are mounted below it. */
export const SESSION_HOME = '/home/work'
export const MOST_FOLDERS = 50
/** Longest reference: an e-mail address, a slash and a name. */
const LONGEST_REFERENCE = 254 + 1 + 64
/** Limit of file systems for a name, in bytes. */
const LONGEST_COMPONENT = 255

/** Whether a path is relative, plain and without `..`. Container labels sign such paths, so this rule must not change. */
export function isPlainPath(path: string): boolean {
  const isPlain = (part: string) =>
    part !== '' && part !== '.' && part !== '..' && utf8Length(part) <= LONGEST_COMPONENT
  return path.length <= 1_000 && !/[\u0000-\u001f\u007f]/.test(path) && path.split('/').every(isPlain)
}

/**
 * Path of a mount, relative to the home of the session and without a trailing slash.
 *
 * @returns undefined if the path is not below the home, or is one that the session itself uses
 */
export function mountPath(path: string): string | undefined {
  const relative = path.startsWith(`${SESSION_HOME}/`) ? path.slice(SESSION_HOME.length + 1) : path
  const plain = relative.replace(/\/+$/, '')
  return isPlainPath(plain) && !RESERVED_FOLDER_NAME.test(plain.split('/', 1)[0] ?? '') ? plain : undefined
}

/** A folder that a new session mounts. */
export const FolderMountSpec = z
  .strictObject({
    folder: TextUpTo(LONGEST_REFERENCE)
      .min(1)
      .describe(
        'Id or name. A name is looked for among the own folders first; `PROJECT/NAME` and `OWNER/NAME`, with the e-mail address of the owner, name a folder of others.',
      ),
    path: TextUpTo(1_100)
      .refine(
        path => mountPath(path) !== undefined,
        'must be a path below /home/work that sessions do not use themselves',
      )
      .optional()
      .describe('Where the session sees it: absolute, or relative to /home/work. The name of the folder if left out.'),
    readOnly: z.boolean().optional().describe('Mount it read-only, whatever the permission allows.'),
  })
  .meta({ id: 'FolderMountSpec' })
export type FolderMountSpec = z.infer<typeof FolderMountSpec>

/**
 * Whether a folder of this name is mounted automatically in each session of its owner, under its name in the home, such as `.local` and
 * `.ssh`, where programs expect their files. Folders of others and of projects are never mounted automatically.
 */
export const isAutomount = (name: string): boolean => name.startsWith('.')

export const FolderMountSpecs = z.array(FolderMountSpec).max(MOST_FOLDERS)

/** A change to a folder of a running session that was requested from the agent and is not confirmed yet. */
export const PendingFolder = z.enum(['mount', 'unmount'])
export type PendingFolder = z.infer<typeof PendingFolder>

/** A folder in a session. */
export const FolderMount = z
  .object({
    folderId: FolderId,
    name: FolderName,
    path: z.string().describe('Absolute, in the session.'),
    readOnly: z.boolean(),
    added: z.literal(true).optional().describe('It was added while the session runs, and can be taken out again.'),
    pending: PendingFolder.optional().describe(
      'The host has not confirmed yet that it is there, or that it is gone; left out where it has.',
    ),
  })
  .meta({ id: 'FolderMount' })
export type FolderMount = z.infer<typeof FolderMount>
