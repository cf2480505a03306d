import { type ResourceSlots, type Task } from '#manager/contract'
import { type Default, type DefaultJson, type Json, type MaybeTime, type Time } from './columns.ts'

export interface RegistriesTable {
  /** Its host, as in image references: `docker.io`, `registry.example.org:5000`. */
  name: string
  url: string
  /** Name spaces that a rescan walks; empty = what its catalogue lists. */
  projects: DefaultJson<string[]>
  username: string | null
  /** At place `registry:<name>`. */
  sealed_password: string | null
  active: Default<boolean>
  scanned_at: MaybeTime
  created_at: Time
  version: Default<number>
}

/** What the last rescan found. */
export interface RegistryImagesTable {
  registry: string
  reference: string
  /** Image id (digest of its configuration), `sha256:…`, the same as on an engine that holds it. */
  digest: string
  manifest_digest: string
  architecture: string
  size_bytes: number
  labels: Json<Record<string, string>>
  scanned_at: Time
}

/** What an admin has changed about an image. */
export interface ImageSettingsTable {
  reference: string
  /** Base units; replaces what its labels say, slot by slot. */
  minimum: DefaultJson<ResourceSlots>
  created_at: Time
  version: Default<number>
}

/** Rescans and pulls. One that runs is kept fresh by its manager; one that is not has died with it. */
export interface TasksTable {
  id: string
  kind: Task['kind']
  target: string
  status: Task['status']
  error: DefaultJson<Task['error']>
  detail: Json<Pick<Task, 'rescan' | 'pull'>>
  /** E-mail address. */
  started_by: string
  cancel_asked: Default<boolean>
  created_at: Time
  seen_at: Time
  ended_at: MaybeTime
  version: Default<number>
}
