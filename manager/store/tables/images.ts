import { type ResourceSlots, type SessionId, type Task, type UserId } from '#manager/contract'
import { type Default, type DefaultJson, type Json, type MaybeTime, type Time } from './columns.ts'

export interface RegistriesTable {
  /** Host (and port) as in image references: `docker.io`, `registry.example.org:5000`. */
  name: string
  url: string
  /** Name spaces that a rescan walks; empty = all repositories in the catalogue of the registry. */
  projects: DefaultJson<string[]>
  username: string | null
  /** Password, sealed with the context `registry:<name>`. */
  sealed_password: string | null
  active: Default<boolean>
  scanned_at: MaybeTime
  created_at: Time
  version: Default<number>
}

/** Images that the last rescan found. */
export interface RegistryImagesTable {
  registry: string
  reference: string
  /** Image id (digest of its configuration), `sha256:…`. An engine that holds the image uses the same id. */
  digest: string
  manifest_digest: string
  architecture: string
  size_bytes: number
  labels: Json<Record<string, string>>
  scanned_at: Time
}

/** Changes of an admin to an image. */
export interface ImageSettingsTable {
  reference: string
  /** Base units. Minimum amounts; each slot replaces that of the image's labels. */
  minimum: DefaultJson<ResourceSlots>
  created_at: Time
  version: Default<number>
}

/** Requests of owners to save images of their sessions, waiting for a superadmin. */
export interface ImageRequestsTable {
  id: string
  session_id: SessionId
  reference: string
  title: string | null
  note: string
  created_at: Time
  expires_at: Time
}

export interface ImageAliasesTable {
  alias: string
  reference: string
  created_at: Time
}

/** Images that only some domains may use; other images are for all. */
export interface ImageDomainsTable {
  reference: string
  domains: string[]
  created_at: Time
}

/** Rescans, pulls and copies of files. A manager refreshes `seen_at` of its running tasks; the manager of a stale task has died. */
export interface TasksTable {
  id: string
  kind: Task['kind']
  target: string
  status: Task['status']
  error: DefaultJson<Task['error']>
  detail: Json<Pick<Task, 'rescan' | 'pull'> & Partial<Pick<Task, 'copy' | 'backup' | 'sessionId' | 'log'>>>
  /** E-mail address of the user. */
  started_by: string
  /** The user to whom the task is shown; null for a task of the administration. */
  user_id: UserId | null
  cancel_asked: Default<boolean>
  created_at: Time
  seen_at: Time
  ended_at: MaybeTime
  version: Default<number>
}
