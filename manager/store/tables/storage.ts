import { type ColumnType } from 'kysely'
import {
  type FolderId,
  type FolderInvitationId,
  type FolderPermission,
  type FolderStatus,
  type FolderUsageMode,
  type GroupId,
  type FileConflict,
  type PendingFolder,
  type SessionId,
  type UploadId,
  type UserId,
} from '#manager/contract'
import { type Default, type MaybeTime, type Time } from './columns.ts'

export interface StorageHostsTable {
  name: string
  /** UUID in the marker file of the storage: proof that what is mounted there is this storage. */
  marker: string
  created_at: Time
}

/** Folders. Exactly one of `user_id` and `group_id` is set. */
export interface FoldersTable {
  id: FolderId
  name: string
  storage_host: string
  user_id: UserId | null
  group_id: GroupId | null
  /** Permission of the members of the project; `rw` for the folder of a user. */
  permission: Default<FolderPermission>
  status: Default<FolderStatus>
  usage_mode: Default<FolderUsageMode>
  /** The most that its files may take on the disk; null = unlimited. */
  max_bytes: Default<number | null>
  /** The limit that its file system enforces now; null if Berth alone checks it. */
  enforced_bytes: Default<number | null>
  /** The most files, directories and links that it may have; null = unlimited. */
  max_files: Default<number | null>
  /** As `enforced_bytes`. */
  enforced_files: Default<number | null>
  trashed_at: MaybeTime
  created_at: Time
  version: Default<number>
}

/** Users who accepted an invitation to a folder. */
export interface FolderMembersTable {
  folder_id: FolderId
  user_id: UserId
  permission: FolderPermission
  joined_at: Time
  /** When the member joined, or got other rights last. */
  changed_at: Time
}

/** Open invitations: by address, whether it has an account or not. */
export interface FolderInvitationsTable {
  id: FolderInvitationId
  folder_id: FolderId
  email: string
  permission: FolderPermission
  invited_by: UserId
  created_at: Time
  /** When it was made, or got other rights last. */
  changed_at: Time
  expires_at: Time
}

/** Measured sizes of folders; null figures: the count took too long. */
export interface FolderUsageTable {
  folder_id: FolderId
  bytes: number | null
  files: number | null
  measured_at: Time
  took_ms: number
}

/** Folders that are being filled with a copy of another one. */
export interface FolderClonesTable {
  folder_id: FolderId
  /** Renewed by the manager that copies. */
  alive_at: Time
}

/** Folders that a session mounts. */
export interface SessionFoldersTable {
  session_id: SessionId
  /** Null once the folder was deleted. */
  folder_id: FolderId | null
  /** Name of the folder when the session was requested. */
  name: string
  /** Relative to the home of the session. */
  path: string
  read_only: boolean
  /** Added while the session runs, and not part of its container. */
  added: Default<boolean>
  /** A change that the agent was asked for and has not confirmed; null if there is none. */
  pending: ColumnType<PendingFolder | null, PendingFolder | null | undefined, PendingFolder | null>
}

/** Tickets with which browsers download files by a link. */
export interface DownloadsTable {
  ticket_hash: Buffer
  folder_id: FolderId
  user_id: UserId
  /** Exactly one of `login_id` and `keypair` is set. */
  login_id: string | null
  keypair: string | null
  /** Relative to the folder. */
  paths: string[]
  expires_at: Time
}

/** Resumable uploads. A finished one stays until it expires, for a client that has not received the last answer. */
export interface UploadsTable {
  id: UploadId
  folder_id: FolderId
  user_id: UserId
  path: string
  size: number
  on_conflict: FileConflict
  sha256: string | null
  finish_later: boolean
  modified_at: MaybeTime
  /** Null: as the file that it replaces. */
  executable: boolean | null
  /** For nobody but its owner. */
  owner_only: Default<boolean>
  finished: Default<boolean>
  /** Bytes that have arrived, as of the last request that ended or was cut. The file itself decides where an upload continues. */
  received: Default<number>
  /** Time of the last byte, or when it was last judged whether the upload fits. */
  moved_at: Default<Date>
  writer: Default<string | null>
  writer_until: MaybeTime
  created_at: Time
  expires_at: Time
}
