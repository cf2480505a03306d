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
  /** UUID in the marker file of the storage: proof that the mounted file system is this storage. */
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
  /** Most bytes that its files may take on the disk; null = unlimited. */
  max_bytes: Default<number | null>
  /** The limit that its file system enforces now; null if Berth alone checks it. */
  enforced_bytes: Default<number | null>
  /** Most files, directories and links that it may contain; null = unlimited. */
  max_files: Default<number | null>
  /** Like `enforced_bytes`. */
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
  /** When the member joined, or the permission changed last. */
  changed_at: Time
}

/** Open invitations, by address, with or without an account. */
export interface FolderInvitationsTable {
  id: FolderInvitationId
  folder_id: FolderId
  email: string
  permission: FolderPermission
  invited_by: UserId
  created_at: Time
  /** When it was created, or the permission changed last. */
  changed_at: Time
  expires_at: Time
}

/** Measured sizes of folders; null: measuring took too long. */
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
  /** Renewed by the manager that copies the files. */
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
  /** Added while the session was running, so not part of its container. */
  added: Default<boolean>
  /** A change that was requested from the agent and is not confirmed yet; null if there is none. */
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

/** Resumable uploads. A finished one is kept until it expires, for clients that did not receive the last answer. */
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
  /** Null: same as for the file that it replaces. */
  executable: boolean | null
  /** Readable only by its owner. */
  owner_only: Default<boolean>
  finished: Default<boolean>
  /** Bytes that have arrived, as of the last request that ended or was cut off. The size of the file decides where an upload continues. */
  received: Default<number>
  /** Time of the last byte, or of the last check whether the upload fits. */
  moved_at: Default<Date>
  writer: Default<string | null>
  writer_until: MaybeTime
  created_at: Time
  expires_at: Time
}
